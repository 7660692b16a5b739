"""From bytes and parameters to the structs that a route asks for."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any, Final, get_args, get_origin
from urllib.parse import parse_qsl

import msgspec

from mainspring.domain import payload
from mainspring.domain.errors import InvalidInput, NotJson, PayloadTooLarge, UnsupportedMedia
from mainspring.domain.limits import (
    BODY_BYTES_MAX,
    BULK_ELEMENTS_MAX,
    PAYLOAD_DEPTH_MAX,
    PAYLOAD_ELEMENTS_MAX,
)
from mainspring.server.http.problems import invalid_body, invalid_parameter

_PARAMETERS_MAX: Final = 100
#: Levels around a payload: a body; or a body, its list, and a job.
_AROUND_ONE: Final = 1
_AROUND_MANY: Final = 3


class BodyReader:
    """Reads the bodies of one route."""

    def __init__(self, struct: Any, bytes_max: int) -> None:
        """Read bodies into ``struct``."""
        self._struct = struct
        self._bytes_max = bytes_max
        is_bulk = bytes_max > BODY_BYTES_MAX
        self._elements_max = BULK_ELEMENTS_MAX if is_bulk else PAYLOAD_ELEMENTS_MAX
        # The payload inside may be as deep as it may be elsewhere.
        self._depth_max = PAYLOAD_DEPTH_MAX + (_AROUND_MANY if is_bulk else _AROUND_ONE)
        self._decoder = msgspec.json.Decoder(struct)
        #: Where every member may be left out, so may the body.
        self._is_optional = not any(field.required for field in msgspec.structs.fields(struct))

    def read(self, body: bytes, media_type: str | None) -> Any:
        """Return the body, or raise what says where it is wrong."""
        if media_type is not None and not _is_json(media_type):
            raise UnsupportedMedia(f"the body is said to be {media_type[:80]!r}")
        if not body and self._is_optional:
            return self._struct()
        # First what every reader of JSON should agree on; then what is asked for here.
        payload.check(
            body,
            bytes_max=self._bytes_max,
            elements_max=self._elements_max,
            depth_max=self._depth_max,
            what="body",
        )
        try:
            return self._decoder.decode(body)
        except msgspec.ValidationError as error:
            raise invalid_body(error, self._struct) from None
        except msgspec.DecodeError as error:
            raise NotJson(f"the body is not JSON: {error}") from None


@contextmanager
def converted(struct: Any) -> Iterator[None]:
    """Say where a body is wrong that a route made of the one that it was given."""
    try:
        yield
    except msgspec.ValidationError as error:
        raise invalid_body(error, struct) from None


class QueryReader:
    """Reads the parameters of one route."""

    def __init__(self, struct: Any) -> None:
        """Read parameters into ``struct``; members that are lists may come several times."""
        self._struct = struct
        self._lists = {
            field.encode_name
            for field in msgspec.structs.fields(struct)
            if get_origin(field.type) in (list, tuple, frozenset)
            or any(get_origin(each) in (list, tuple) for each in get_args(field.type))
        }

    def read(self, query: bytes) -> Any:
        """Return the parameters, or raise what says which one is wrong."""
        try:
            pairs = parse_qsl(
                query.decode("ascii"),
                keep_blank_values=True,
                errors="strict",
                max_num_fields=_PARAMETERS_MAX,
            )
        except ValueError:
            raise InvalidInput(
                "the parameters cannot be read", hint="percent-encode them as UTF-8"
            ) from None
        found: dict[str, Any] = {}
        for name, value in pairs:
            if name in self._lists:
                found.setdefault(name, []).extend(part for part in value.split(",") if part)
            elif name in found:
                raise InvalidInput(
                    f"{name[:80]}: it is given twice", details={"pointer": f"?{name[:80]}"}
                )
            else:
                found[name] = value
        try:
            return msgspec.convert(found, self._struct, strict=False)
        except msgspec.ValidationError as error:
            raise invalid_parameter(error, self._struct) from None


def check_length(headers: Mapping[str, str], bytes_max: int) -> None:
    """Refuse a body that says beforehand that it is too long."""
    announced = headers.get("content-length", "0")
    if announced.isdecimal() and int(announced) > bytes_max:
        raise too_large(int(announced), bytes_max)


def too_large(length: int, bytes_max: int) -> PayloadTooLarge:
    """Return what a body that is too long is answered with."""
    return PayloadTooLarge(
        f"the body has {length:,} bytes or more, the limit is {bytes_max:,}",
        hint="store the bulk elsewhere and pass a reference",
        details={"bytes_max": bytes_max},
    )


def _is_json(media_type: str) -> bool:
    plain = media_type.partition(";")[0].strip().lower()
    return plain == "application/json" or plain.endswith("+json")
