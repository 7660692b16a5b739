"""References into the object store: the key, with the length and SHA-256 of what was stored.

The hash lies in the store's row, not beside the object, so a damaged or exchanged object is found
out when it is read.
"""

import hashlib
import re
from typing import Final, NamedTuple

from mainspring.domain.errors import BlobDamaged

_SEPARATOR: Final = "#"
#: Where the files of handlers lie: ``files/TENANT/DAY/job_…:ATTEMPT/DIGEST-NAME``.
FILES: Final = "files/"
_FILE_PARTS: Final = 5
_NAME_CHARACTERS_MAX: Final = 100
_DIGEST_CHARACTERS: Final = 16


class Reference(NamedTuple):
    """Where an object lies, and what it must be."""

    key: str
    length: int
    sha256: str


def reference_of(key: str, body: bytes) -> str:
    """Return the text that is stored in a row for this object."""
    digest = hashlib.sha256(body).hexdigest()
    return f"{key}{_SEPARATOR}{len(body)}{_SEPARATOR}{digest}"


def parse_reference(text: str) -> Reference:
    """Read a stored reference."""
    key, length, digest = text.rsplit(_SEPARATOR, 2)
    return Reference(key, int(length), digest)


def verified(reference: Reference, body: bytes) -> bytes:
    """Return the body if it is what was stored, else raise ``BlobDamaged``."""
    if len(body) != reference.length or hashlib.sha256(body).hexdigest() != reference.sha256:
        raise BlobDamaged(
            f"the object {reference.key} has {len(body)} bytes that are not the "
            f"{reference.length} bytes that were stored"
        )
    return body


def file_key(tenant: str, day: str, attempt: str, name: str, body: bytes) -> str:
    """Return the key of a file that an attempt (``job_…:3``) saved.

    The digest keeps apart what an attempt saves twice under one name; the name is for people.
    """
    digest = hashlib.sha256(name.encode() + b"\0" + body).hexdigest()[:_DIGEST_CHARACTERS]
    shown = re.sub(r"[^A-Za-z0-9._-]", "_", name)[-_NAME_CHARACTERS_MAX:]
    return f"{FILES}{tenant}/{day}/{attempt}/{digest}-{shown}"


def tenant_of_file(key: str) -> str:
    """Return whose file it is that lies under a key."""
    return key.split("/")[1]


def job_of_file(key: str) -> str:
    """Return the shown id of the job under which a file lies, or raise ``ValueError``."""
    parts = key.split("/")
    if len(parts) != _FILE_PARTS or not key.startswith(FILES):
        raise ValueError(key)
    return parts[-2].partition(":")[0]
