"""Payloads submitted by name are held against the schema that a worker has declared."""

import json
import re
from datetime import datetime, timedelta
from decimal import Decimal
from typing import Any
from uuid import UUID

import pytest

from mainspring.app.codec import Codec
from mainspring.domain.errors import InvalidPayload, NaiveDatetime
from mainspring.domain.job import HandlerInfo
from mainspring.ports.gateway import Submission
from mainspring.ports.store import Store
from mainspring.registry.desk import FrontDesk
from mainspring.testing.conformance.steps import counts

KIND = "mail.send"
SCHEMA = json.dumps(
    {
        "type": "object",
        "properties": {"to": {"type": "string"}, "rows": {"type": "array", "items": {}}},
        "required": ["to"],
        "additionalProperties": False,
    }
)


def want(**changes: Any) -> Submission:
    return Submission(**{"kind": KIND, "kind_is_known": True, **changes})


async def declare(store: Store, **changes: Any) -> None:
    await store.declare_handlers([HandlerInfo(**{"kind": KIND, "schema": SCHEMA, **changes})])


@pytest.mark.parametrize(
    ("payload", "words", "pointer"),
    [
        (b'{"to":7}', 'mail.send: 7 is not of type "string" at /to', "/to"),
        (b'{"to":"a","rows":{}}', 'mail.send: {} is not of type "array" at /rows', "/rows"),
        (b'{"to":"a","x":1}', "mail.send: there is no parameter 'x'", "/"),
        (b'{"to":' + b"9" * 30 + b"}", "mail.send: 999999999999999999999999999999 is not", "/to"),
    ],
)
async def test_what_does_not_fit_the_schema_is_told_with_its_place(
    desk: FrontDesk, store: Store, payload: bytes, words: str, pointer: str
) -> None:
    await declare(store)
    with pytest.raises(InvalidPayload) as caught:
        await desk.submit([want(kind_is_known=False, payload=payload)])
    assert str(caught.value).startswith(words)
    assert caught.value.details == {"pointer": pointer, "kind": KIND}
    assert caught.value.hint == "mainspring handlers schema mail.send shows what it takes"


def call(
    when: datetime | None = None,
    mark: UUID | None = None,
    price: Decimal | int = 0,
    lasts: timedelta | None = None,
) -> None:
    """What a handler takes whose values are texts in JSON."""


@pytest.mark.parametrize(
    ("payload", "error", "words"),
    [
        (b'{"when":"2027-01-31T09:00:00"}', NaiveDatetime, "' at /when has no time zone"),
        (b'{"when":"tomorrow"}', InvalidPayload, '"tomorrow" is not a "date-time" at /when'),
        (b'{"when":7}', InvalidPayload, "7 is not valid under any"),
        (b'{"mark":"x"}', InvalidPayload, '"x" is not a "uuid" at /mark'),
        (b'{"price":"much"}', InvalidPayload, '"much" is not a "decimal" at /price'),
        (b'{"lasts":"long"}', InvalidPayload, '"long" is not a "duration" at /lasts'),
    ],
)
async def test_texts_that_no_worker_could_read_are_refused(
    desk: FrontDesk, store: Store, payload: bytes, error: type[Exception], words: str
) -> None:
    codec = Codec(KIND, call)
    await declare(store, schema=codec.schema())
    with pytest.raises(error, match=re.escape(words)):
        await desk.submit([want(kind_is_known=False, payload=payload)])
    with pytest.raises(error):
        codec.decode(payload)
    assert await counts(store) == {}


@pytest.mark.parametrize(
    "payload",
    [
        b'{"when":"2027-01-31T09:00:00+01:00"}',
        b'{"when":"2027-01-31 09:00:00.5z"}',
        b'{"when":null}',
        b'{"mark":"01234567-89ab-cdef-0123-456789abcdef","price":"1.50","lasts":"PT90S"}',
        b'{"mark":"0123456789abcdef0123456789abcdef","price":3}',
    ],
)
async def test_texts_that_a_worker_reads_are_accepted(
    desk: FrontDesk, store: Store, payload: bytes
) -> None:
    codec = Codec(KIND, call)
    await declare(store, schema=codec.schema())
    codec.decode(payload)
    assert (await desk.submit([want(kind_is_known=False, payload=payload)]))[0].created


@pytest.mark.parametrize("kind", ["uri", "email", "hostname", "made-up"])
async def test_formats_of_the_users_models_are_left_to_them(
    desk: FrontDesk, store: Store, kind: str
) -> None:
    schema = f'{{"properties":{{"to":{{"type":"string","format":"{kind}"}}}}}}'
    await declare(store, schema=schema)
    payload = b'{"to":"neither of these @ all"}'
    assert (await desk.submit([want(kind_is_known=False, payload=payload)]))[0].created


@pytest.mark.parametrize(
    "schema",
    ["", "{}", '{"type":"nope"}', '{"$ref":"#/nope"}', '{"$ref":"http://127.0.0.1:9/x"}', '"x"'],
)
async def test_a_schema_that_cannot_be_read_stops_nobody(
    desk: FrontDesk, store: Store, schema: str
) -> None:
    await declare(store, schema=schema)
    assert (await desk.submit([want(kind_is_known=False)]))[0].created
