"""The schema: equal to its dump, equal to the domain's tables, applied once."""

import asyncio
import re
from collections.abc import Callable
from importlib.resources import files
from typing import Protocol

import asyncpg
import pytest

from mainspring.domain.errors import ConfigError, Conflict, StoreNewer, StoreNotMigrated
from mainspring.domain.states import CLAIMABLE, CLOSED_ATTEMPTS, FINAL, HELD, LIVE
from mainspring.store.postgres import PostgresStore, open_postgres, pool
from mainspring.store.postgres.partitions import PARENTS

pytestmark = pytest.mark.postgres


class Connect(Protocol):
    async def __call__(self, dsn: str | None = None) -> "asyncpg.Connection[asyncpg.Record]": ...


_CATALOGUE = """
SELECT 'column', c.relname::text, a.attnum::text, a.attname::text,
    format_type(a.atttypid, a.atttypmod), a.attnotnull::text,
    coalesce(pg_get_expr(d.adbin, d.adrelid), '')
FROM pg_class c JOIN pg_attribute a ON a.attrelid = c.oid AND a.attnum > 0
LEFT JOIN pg_attrdef d ON d.adrelid = c.oid AND d.adnum = a.attnum
WHERE c.relnamespace = 'mainspring'::regnamespace AND c.relkind IN ('r', 'p')
UNION ALL
SELECT 'constraint', conrelid::regclass::text, conname::text, pg_get_constraintdef(oid),
    '', '', ''
FROM pg_constraint WHERE connamespace = 'mainspring'::regnamespace
UNION ALL
SELECT 'index', tablename::text, indexname::text, indexdef, '', '', ''
FROM pg_indexes WHERE schemaname = 'mainspring'
UNION ALL
SELECT 'table', relname::text, relkind::text, coalesce(reloptions::text, ''),
    coalesce(pg_get_expr(relpartbound, oid), ''), coalesce(pg_get_partkeydef(oid), ''),
    relrowsecurity::text || relforcerowsecurity::text
FROM pg_class WHERE relnamespace = 'mainspring'::regnamespace AND relkind IN ('r', 'p')
UNION ALL
SELECT 'policy', tablename::text, policyname::text, roles::text, cmd, qual,
    coalesce(with_check, '')
FROM pg_policies WHERE schemaname = 'mainspring'
UNION ALL
SELECT 'row', 'tenants', name, '', '', '', '' FROM mainspring.tenants
"""


async def _catalogue(connect: Connect, dsn: str) -> set[tuple[str, ...]]:
    return {tuple(row) for row in await (await connect(dsn)).fetch(_CATALOGUE)}


async def _words(connect: Connect, query: str) -> frozenset[str]:
    """Return the quoted words of the one definition that a catalogue query finds."""
    return frozenset(re.findall(r"'(\w+)'", await (await connect()).fetchval(query)))


async def test_the_dump_is_what_the_migrations_make(
    dsn: str, database: Callable[[str], str], connect: Connect
) -> None:
    connection = await connect()
    major = str(connection.get_server_version().major)
    by_dump = database(major)
    connection = await connect(by_dump)
    await connection.execute(
        files("mainspring.store.postgres").joinpath("schema.sql").read_text("utf-8")
    )
    assert await _catalogue(connect, by_dump) == await _catalogue(connect, dsn)


async def test_the_text_for_people_does_what_migrate_does(
    dsn: str, database: Callable[[str], str], connect: Connect
) -> None:
    by_hand = database("15")
    store = await open_postgres(by_hand)
    first, *others = (await store.schema_status()).pending
    connection = await connect(by_hand)
    await connection.execute(store.migration_sql(pending=(first,)))
    assert (await store.schema_status()).pending == tuple(others)
    await connection.execute(store.migration_sql(pending=tuple(others)))
    await store.check_ready()
    assert await store.migrate(phase="all") == []
    await store.close()


async def test_many_migrate_at_once_and_each_step_is_applied_once(empty_dsn: str) -> None:
    stores = [await open_postgres(empty_dsn) for _ in range(4)]
    applied = await asyncio.gather(*(store.migrate(phase="all") for store in stores))
    known = (await stores[0].schema_status()).applied
    assert sorted(name for names in applied for name in names) == list(known)
    for store in stores:
        await store.close()


async def test_an_applied_step_whose_text_changed_is_refused(
    store: PostgresStore, dsn: str, connect: Connect
) -> None:
    connection = await connect()
    await connection.execute("UPDATE mainspring.migrations SET checksum = 'other'")
    for call in (store.check_ready, store.schema_status):
        with pytest.raises(Conflict, match="0001_pre_live"):
            await call()


async def test_a_newer_store_is_refused(store: PostgresStore, dsn: str, connect: Connect) -> None:
    connection = await connect()
    add = "INSERT INTO mainspring.migrations VALUES ($1, 'x', now(), '9')"
    await connection.execute(add, "9998_pre_more")
    await store.check_ready()
    await connection.execute(add, "9999_post_less")
    with pytest.raises(StoreNewer, match="9999_post_less"):
        await store.check_ready()


async def test_without_tables_every_call_says_what_to_do(empty_dsn: str) -> None:
    store = await open_postgres(empty_dsn)
    with pytest.raises(StoreNotMigrated):
        await store.check_ready()
    with pytest.raises(StoreNotMigrated) as failed:
        await store.count_states()
    assert "mainspring db migrate" in failed.value.hint
    await store.close()


async def test_an_old_server_is_refused_by_its_version(
    dsn: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(pool, "OLDEST_MAJOR", 99)
    store = await open_postgres(dsn)
    with pytest.raises(ConfigError, match=r"PostgreSQL 1[58]\.\d+, Mainspring needs 99"):
        await store.now()
    await store.close()


@pytest.mark.parametrize(
    ("constraint", "states"),
    [
        ("jobs_state_is_live", LIVE),
        ("jobs_held_names_worker", HELD),
        ("jobs_history_state_is_final", FINAL),
        ("jobs_history_attempt_is_closed", CLOSED_ATTEMPTS),
        ("attempts_state_is_closed", CLOSED_ATTEMPTS),
    ],
)
async def test_constraints_say_what_the_domain_says(
    connect: Connect, constraint: str, states: frozenset[str]
) -> None:
    query = (
        "SELECT pg_get_constraintdef(oid) FROM pg_constraint "
        f"WHERE conname = '{constraint}' AND coninhcount = 0"
    )
    assert await _words(connect, query) == {str(state) for state in states}


@pytest.mark.parametrize(("index", "states"), [("jobs_claim", CLAIMABLE), ("jobs_held", HELD)])
async def test_partial_indexes_cover_the_states_of_the_domain(
    connect: Connect, index: str, states: frozenset[str]
) -> None:
    query = f"SELECT indexdef FROM pg_indexes WHERE indexname = '{index}'"
    assert await _words(connect, query) == {str(state) for state in states}


async def test_every_final_state_has_its_history(dsn: str, connect: Connect) -> None:
    connection = await connect()
    parents = {
        row[0]
        for row in await connection.fetch(
            "SELECT relname::text FROM pg_class WHERE relkind = 'p' "
            "AND relnamespace = 'mainspring'::regnamespace AND pg_get_partkeydef(oid) LIKE 'RANGE%'"
        )
    }
    assert parents == {parent.name for parent in PARENTS}


@pytest.mark.parametrize(
    ("statement", "states"),
    [
        ("claim", CLAIMABLE),
        ("next_due", CLAIMABLE),
        ("held_by", HELD),
        ("settle_again", frozenset({"cancelling", "ready", "scheduled"})),
    ],
)
def test_statements_name_states_of_the_domain(statement: str, states: frozenset[str]) -> None:
    text = pool.load(statement).text
    named = set(re.findall(r"'(\w+)'", text)) & {str(state) for state in LIVE}
    assert named - {"running"} == {str(state) for state in states} - {"running"}
