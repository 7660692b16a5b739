"""What several documents share: lists, errors, embedded JSON."""

from typing import Annotated, Final, Generic, TypeVar

import msgspec

from mainspring.domain.outcome import ErrorInfo

T = TypeVar("T")


class Listing(msgspec.Struct, Generic[T], frozen=True, kw_only=True):
    """One page of a list."""

    items: list[T]
    #: Pass it as ``cursor``, with the same question, for the next page; null on the last one.
    next_cursor: str | None = None


class ErrorDocument(msgspec.Struct, frozen=True, kw_only=True):
    """Why an attempt failed."""

    type: str
    message: str
    where: str = ""
    traceback: str = ""


#: JSON text of an object, embedded as it is.
ObjectText = Annotated[msgspec.Raw, msgspec.Meta(extra_json_schema={"type": "object"})]
#: Likewise, or null where there is none.
MaybeObjectText = Annotated[
    msgspec.Raw, msgspec.Meta(extra_json_schema={"type": ["object", "null"]})
]
_EMPTY: Final = msgspec.Raw(b"{}")
_NOTHING: Final = msgspec.Raw(b"null")


def empty_object() -> msgspec.Raw:
    """Return the JSON text of an object without members."""
    return _EMPTY


def nothing() -> msgspec.Raw:
    """Return the JSON text of nothing; a member of any JSON cannot be ``None`` itself."""
    return _NOTHING


def raw_json(value: bytes | None) -> msgspec.Raw:
    """Embed JSON text as it is."""
    return _NOTHING if value is None else msgspec.Raw(value)


def raw_text(value: msgspec.Raw) -> bytes | None:
    """Return embedded JSON text."""
    text = bytes(value)
    return None if text == b"null" else text


def error_document(error: bytes | None) -> ErrorDocument | None:
    """Return a stored error as it is shown."""
    found = error_of(error)
    if found is None:
        return None
    return ErrorDocument(
        type=found.type, message=found.message, where=found.where, traceback=found.traceback
    )


def error_text(error: ErrorDocument | None) -> bytes | None:
    """Return an error as it is stored."""
    if error is None:
        return None
    return msgspec.json.encode(ErrorInfo(error.type, error.message, error.traceback, error.where))


def error_of(error: bytes | None) -> ErrorInfo | None:
    """Return a stored error, or nothing."""
    if error is None:
        return None
    try:
        return msgspec.json.decode(error, type=ErrorInfo)
    except msgspec.DecodeError:
        # Written by another version: show the text rather than nothing.
        return ErrorInfo("Error", error.decode("utf-8", "replace"))
