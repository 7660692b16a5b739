"""Errors: the trailing metadata that they travel in, and their way back into exceptions."""

from collections.abc import Iterable
from typing import Final

import msgspec
from google.protobuf.message import DecodeError

from mainspring.domain.errors import BY_CODE, MainspringError
from mainspring.wire.protobuf import error_pb2
from mainspring.wire.protobuf.scalars import utf8

ERROR_KEY: Final = "mainspring-error-bin"
CODE_KEY: Final = "mainspring-code"
#: Clients take 8 KiB of metadata in all; base 64 makes three bytes four.
_DETAIL_BYTES_MAX: Final = 4_096
_MESSAGE_CHARACTERS_MAX: Final = 1_000
_HINT_CHARACTERS_MAX: Final = 500


def error_message(error: MainspringError) -> error_pb2.ErrorDetail:
    """Return an error as it travels; details that would not fit stay behind."""
    made = error_pb2.ErrorDetail(
        code=error.code,
        message=utf8(error.message[:_MESSAGE_CHARACTERS_MAX]),
        hint=utf8(error.hint[:_HINT_CHARACTERS_MAX]),
    )
    if error.details:
        details = msgspec.json.encode(error.details, enc_hook=str)
        if made.ByteSize() + len(details) <= _DETAIL_BYTES_MAX:
            made.details_json = details.decode()
    return made


def error_metadata(error: MainspringError) -> tuple[tuple[str, str | bytes], ...]:
    """Return the trailing metadata of a call that failed so."""
    return ((CODE_KEY, error.code), (ERROR_KEY, error_message(error).SerializeToString()))


def error_of(metadata: Iterable[tuple[str, str | bytes]]) -> MainspringError | None:
    """Read an error from trailing metadata; nothing where there is none that can be read."""
    for key, value in metadata:
        if key == ERROR_KEY and isinstance(value, bytes):
            return _rebuilt(value)
    return None


def _rebuilt(raw: bytes) -> MainspringError | None:
    try:
        detail = error_pb2.ErrorDetail.FromString(raw)
        details = msgspec.json.decode(detail.details_json or "{}", type=dict[str, object])
    except (DecodeError, ValueError, msgspec.DecodeError):
        return None
    made = BY_CODE.get(detail.code, MainspringError)
    return made(detail.message, hint=detail.hint or None, details=details)
