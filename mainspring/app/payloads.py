"""Payloads as JSON text."""

from typing import Any

import msgspec

from mainspring.domain.errors import InvalidPayload
from mainspring.domain.payload import check_finite


def encoded(payload: Any) -> bytes:
    """Return a payload as JSON text; what JSON cannot hold is refused, not bent."""
    if isinstance(payload, bytes):
        return payload
    check_finite(payload)
    try:
        return msgspec.json.encode(payload)
    except (TypeError, ValueError, OverflowError, RecursionError) as error:
        raise InvalidPayload(
            f"the payload: {error}", hint="use values that JSON can hold"
        ) from None
