"""How batches travel into one statement: ids side by side, everything else as one JSON text."""

from collections.abc import Iterable, Iterator, Sequence
from functools import lru_cache
from itertools import islice
from typing import Any, Final, TypeVar

import msgspec

T = TypeVar("T")

#: Rows in one statement: bounds its memory; the gain of larger ones is gone by then.
CHUNK_ROWS: Final = 500
_ID_BYTES: Final = 16
_encoder: Final = msgspec.json.Encoder()


def pack(ids: Iterable[bytes]) -> bytes:
    """Return ids side by side; statements cut them out again by position."""
    packed = b"".join(ids)
    assert len(packed) % _ID_BYTES == 0, "every id has 16 bytes"
    return packed


@lru_cache(maxsize=1024)
def positions(count: int) -> str:
    """Return a JSON array of so many elements, for statements that need the ids only."""
    return f"[{','.join('0' * count)}]"


def as_json(values: Any) -> str:
    """Return a JSON text."""
    return _encoder.encode(values).decode()


def text(value: bytes | None) -> str | None:
    """Return JSON bytes as the text that SQLite keeps."""
    return None if value is None else value.decode()


def raw(value: str | None) -> bytes | None:
    """Return kept text as the bytes that travel."""
    return None if value is None else value.encode()


def chunks(values: Sequence[T]) -> Iterator[Sequence[T]]:
    """Cut a sequence into parts that one statement takes."""
    if len(values) <= CHUNK_ROWS:
        yield values
        return
    rest = iter(values)
    while part := list(islice(rest, CHUNK_ROWS)):
        yield part
