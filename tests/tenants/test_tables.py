"""Every table is behind the second wall, or closed to it, or argued."""

from collections.abc import AsyncIterator, Callable

import asyncpg
import pytest

from mainspring.domain.errors import Forbidden
from mainspring.store.postgres import PostgresStore, open_postgres
from mainspring.testing.builders import new_job

pytestmark = pytest.mark.postgres

#: What the role may touch although no policy chooses its rows.
_ARGUED = {"queues": "SELECT only: names and pauses, which all tenants share"}
_TABLES = """
SELECT
    relname::text AS name,
    relrowsecurity AS is_walled,
    EXISTS (SELECT FROM pg_policy WHERE polrelid = pg_class.oid) AS has_policy,
    has_any_column_privilege('mainspring_tenant', oid, 'SELECT, INSERT, UPDATE')
    OR has_table_privilege('mainspring_tenant', oid, 'DELETE, TRUNCATE, REFERENCES, TRIGGER')
    AS is_open
FROM pg_class
WHERE relnamespace = 'mainspring'::regnamespace AND relkind IN ('r', 'p', 'v', 'm', 'f')
"""


@pytest.fixture(params=["15", "18"])
def address(request: pytest.FixtureRequest, migrated_database: Callable[[str], str]) -> str:
    return migrated_database(request.param)


@pytest.fixture
async def connection(address: str) -> AsyncIterator["asyncpg.Connection[asyncpg.Record]"]:
    opened = await asyncpg.connect(address)
    yield opened
    await opened.close()


@pytest.fixture
async def whole(address: str) -> AsyncIterator[PostgresStore]:
    opened = await open_postgres(address)
    yield opened
    await opened.close()


async def _unprotected(connection: "asyncpg.Connection[asyncpg.Record]") -> set[str]:
    rows = await connection.fetch(_TABLES)
    assert len(rows) > 20
    walled = {row["name"] for row in rows if row["is_walled"] and row["has_policy"]}
    return {row["name"] for row in rows if row["is_open"]} - walled


async def test_every_table_is_walled_or_closed_or_argued(
    whole: PostgresStore, connection: "asyncpg.Connection[asyncpg.Record]"
) -> None:
    await whole.prepare_partitions(3)
    assert await _unprotected(connection) == set(_ARGUED)
    await connection.execute("CREATE TABLE mainspring.late (tenant text)")
    assert await _unprotected(connection) == set(_ARGUED)
    await connection.execute("GRANT SELECT ON mainspring.late TO mainspring_tenant")
    assert await _unprotected(connection) == {*_ARGUED, "late"}


async def test_without_a_tenant_the_role_sees_nothing(
    whole: PostgresStore, connection: "asyncpg.Connection[asyncpg.Record]"
) -> None:
    await whole.submit([new_job(tenant=tenant) for tenant in ("acme", "bits")])
    async with connection.transaction():
        await connection.execute("SET LOCAL ROLE mainspring_tenant")
        assert await connection.fetchval("SELECT count(*) FROM mainspring.jobs") == 0
        await connection.execute("SET LOCAL mainspring.tenant = 'acme'")
        assert await connection.fetchval("SELECT count(*) FROM mainspring.jobs") == 1
    assert await connection.fetchval("SELECT count(*) FROM mainspring.jobs") == 2


async def test_the_wall_ends_with_its_transaction(whole: PostgresStore) -> None:
    await whole.submit([new_job(tenant=tenant) for tenant in ("acme", "bits")])
    for tenant in ("acme", "bits", "nobody"):
        found = sum((await whole.bound(tenant).count_states()).values())
        assert found == (tenant != "nobody")
    assert sum((await whole.count_states()).values()) == 2


async def test_a_row_of_another_tenant_cannot_be_written(whole: PostgresStore) -> None:
    with pytest.raises(Forbidden):
        await whole.bound("acme").submit([new_job(tenant="bits")])
    assert await whole.count_states() == {}


async def test_an_application_with_grants_of_its_own_sees_what_it_saw(
    whole: PostgresStore, connection: "asyncpg.Connection[asyncpg.Record]"
) -> None:
    await whole.submit([new_job(tenant=tenant) for tenant in ("acme", "bits")])
    transaction = connection.transaction()
    await transaction.start()
    await connection.execute("CREATE ROLE mainspring_test_application")
    await connection.execute("GRANT USAGE ON SCHEMA mainspring TO mainspring_test_application")
    await connection.execute("GRANT SELECT ON mainspring.jobs TO mainspring_test_application")
    await connection.execute("SET LOCAL ROLE mainspring_test_application")
    assert await connection.fetchval("SELECT count(*) FROM mainspring.jobs") == 2
    await transaction.rollback()


async def test_a_wall_that_is_missing_is_raised_by_the_next_migrate(
    address: str, whole: PostgresStore, connection: "asyncpg.Connection[asyncpg.Record]"
) -> None:
    await whole.submit([new_job(tenant=tenant) for tenant in ("acme", "bits")])
    await connection.execute("REVOKE ALL ON mainspring.jobs FROM mainspring_tenant")
    # The first wall asks for the tenant's own all the same.
    assert sum((await whole.bound("acme").count_states("acme")).values()) == 1
    assert sum((await whole.bound("acme").count_states()).values()) == 2
    await whole.migrate(phase="all")
    other = await open_postgres(address)
    assert sum((await other.bound("acme").count_states()).values()) == 1
    await other.close()
