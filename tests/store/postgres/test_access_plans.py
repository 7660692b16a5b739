"""Query plans of what a request asks first, and of the audit when it has grown."""

import json
from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Any, Protocol

import asyncpg
import pytest

from mainspring.store.postgres import PostgresStore
from mainspring.store.postgres.pool import bind, load
from mainspring.store.statements import Statement
from mainspring.testing.clock import SettableClock

pytestmark = pytest.mark.postgres

Plan = dict[str, Any]
_AT = datetime(2027, 3, 14, tzinfo=UTC)
_NOTHING = ("subject", "actor", "action", "tenant", "from_at", "until_at", "before_at")


class Connect(Protocol):
    async def __call__(self, dsn: str | None = None) -> "asyncpg.Connection[asyncpg.Record]": ...


@pytest.fixture
async def connection(
    store: PostgresStore, clock: SettableClock, connect: Connect
) -> "asyncpg.Connection[asyncpg.Record]":
    """A connection to a store with 20,000 keys and 50,000 lines of the audit."""
    connection = await connect()
    await connection.execute(
        "INSERT INTO mainspring.api_keys (id, name, scopes, secret_hash, created_at, created_by) "
        "SELECT lpad(n::text, 12, '0'), 'key ' || n, '[]', '', now(), 'ada' "
        "FROM generate_series(1, 20000) AS n"
    )
    await connection.execute(
        "INSERT INTO mainspring.audit (at, actor, action, subject, detail, tenant) "
        "SELECT $1::timestamptz + n * interval '1 second', 'ada', 'job.cancel', 'job_' || n, "
        "'{}', 'tenant ' || n % 100 FROM generate_series(1, 50000) AS n",
        _AT,
    )
    await connection.execute("ANALYZE mainspring.api_keys, mainspring.audit")
    return connection


def _nodes(plan: Plan) -> Iterator[Plan]:
    yield plan
    for child in plan.get("Plans", ()):
        yield from _nodes(child)


async def _plan(
    connection: "asyncpg.Connection[asyncpg.Record]", statement: Statement, **values: object
) -> list[Plan]:
    text = await connection.fetchval(
        f"EXPLAIN (FORMAT JSON) {statement.text}", *bind(statement, values)
    )
    return list(_nodes(json.loads(text)[0]["Plan"]))


async def test_a_key_is_found_by_its_primary_key(
    connection: "asyncpg.Connection[asyncpg.Record]",
) -> None:
    nodes = await _plan(connection, load("find_key"), id="000000000007", at=None)
    assert "api_keys_pkey" in {node.get("Index Name") for node in nodes}
    assert not any(
        node["Node Type"] == "Seq Scan" and node["Relation Name"] == "api_keys" for node in nodes
    )


@pytest.mark.parametrize(
    ("wanted", "index"),
    [
        ({}, "at_number_idx"),
        ({"tenant": "tenant 7"}, "tenant_at_number_idx"),
        ({"subject": "job_7"}, "subject_at_idx"),
        ({"before_at": _AT}, "at_number_idx"),
    ],
)
async def test_the_audit_is_read_by_an_index(
    connection: "asyncpg.Connection[asyncpg.Record]", wanted: dict[str, object], index: str
) -> None:
    values = dict.fromkeys(_NOTHING) | {"row_limit": 50, "before_number": 0} | wanted
    nodes = await _plan(connection, load("list_audit"), **values)
    read = [node for node in nodes if node.get("Relation Name", "").startswith("audit")]
    assert read
    for node in read:
        assert node.get("Index Name", "").endswith(index), nodes


async def test_the_audit_is_append_only(
    connection: "asyncpg.Connection[asyncpg.Record]", store: PostgresStore, clock: SettableClock
) -> None:
    await store.prepare_partitions(3)
    await store.pause_queue("mail", reason="", actor="ada")
    with pytest.raises(asyncpg.RaiseError, match="append-only"):
        await connection.execute("UPDATE mainspring.audit SET actor = 'eve'")
    with pytest.raises(asyncpg.RaiseError, match="append-only"):
        # In its own partition, too.
        await connection.execute("UPDATE mainspring.audit SET actor = 'eve' WHERE subject = 'mail'")
