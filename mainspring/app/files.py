"""Files that handlers save: what they get back, and where the bytes go."""

from pathlib import Path
from typing import Protocol

import msgspec

from mainspring.domain.errors import InvalidInput, PayloadTooLarge
from mainspring.domain.limits import FILE_BYTES_MAX


class FileRef(msgspec.Struct, frozen=True, omit_defaults=True):
    """A file that a handler saved; return it, and ``client.files.read`` has the bytes.

    It lies in the object store and stays as long as the job is kept.
    """

    name: str
    size_bytes: int = 0
    #: Where it lies; empty in a context of a test.
    reference: str = ""


class FileSink(Protocol):
    """Takes the files of one attempt."""

    def save(self, path: str, name: str) -> FileRef:
        """Keep the file; block until it is durable. Not on the event loop."""
        ...

    async def asave(self, path: str, name: str) -> FileRef:
        """Keep the file."""
        ...


def read_file(path: str) -> bytes:
    """Return a file's bytes, or raise saying why it cannot be kept."""
    try:
        size = Path(path).stat().st_size
        if size > FILE_BYTES_MAX:
            raise PayloadTooLarge(
                f"the file {path} has {size:,} bytes, the limit is {FILE_BYTES_MAX:,}",
                hint="put it into storage of your own and return its address",
            )
        return Path(path).read_bytes()
    except OSError as error:
        raise InvalidInput(
            f"the file {path} cannot be read: {error.strerror or error}",
            hint="give the path of a file that the handler has written and closed",
        ) from error
