"""Migrations: ``SchemaStore``. These tests begin with ``empty_store``, which nobody migrated."""

import asyncio

import pytest

from mainspring.domain.errors import InvalidInput, StoreNotMigrated
from mainspring.domain.states import JobState
from mainspring.ports.store import Store
from mainspring.testing.builders import new_job
from mainspring.testing.conformance.steps import Suite, counts, finish


class SchemaSuite(Suite):
    """From nothing to ready, whoever else tries as well."""

    async def test_an_empty_store_is_not_ready(self, empty_store: Store) -> None:
        found = await empty_store.schema_status()
        assert found.applied == found.unknown == ()
        assert list(found.pending) == sorted(found.pending) != []
        assert not found.too_new
        with pytest.raises(StoreNotMigrated) as refused:
            await empty_store.check_ready()
        assert "migrate" in refused.value.hint

    async def test_work_in_an_empty_store_is_refused_with_the_reason(
        self, empty_store: Store
    ) -> None:
        with pytest.raises(StoreNotMigrated):
            await empty_store.submit([new_job()])
        with pytest.raises(StoreNotMigrated):
            await empty_store.get_job(new_job().id)

    async def test_migrating_makes_it_ready(self, empty_store: Store) -> None:
        pending = (await empty_store.schema_status()).pending
        assert await empty_store.migrate(phase="all") == list(pending)
        found = await empty_store.schema_status()
        assert (found.applied, found.pending, found.unknown) == (pending, (), ())
        await empty_store.check_ready()
        await finish(empty_store)

    async def test_migrating_again_is_no_work(self, empty_store: Store) -> None:
        await empty_store.migrate(phase="all")
        await finish(empty_store)
        for phase in ("pre", "post", "all"):
            assert await empty_store.migrate(phase=phase) == []
        assert await counts(empty_store) == {JobState.SUCCEEDED: 1}

    async def test_phases_are_steps(self, empty_store: Store) -> None:
        pending = (await empty_store.schema_status()).pending
        before = await empty_store.migrate(phase="pre")
        assert before == [name for name in pending if "_pre_" in name]
        await empty_store.check_ready()
        after = await empty_store.migrate(phase="post")
        assert sorted([*before, *after]) == list(pending)

    async def test_an_unknown_phase_is_refused(self, empty_store: Store) -> None:
        with pytest.raises(InvalidInput):
            await empty_store.migrate(phase="later")

    async def test_many_at_once_apply_each_step_once(self, empty_store: Store) -> None:
        pending = (await empty_store.schema_status()).pending
        answers = await asyncio.gather(*(empty_store.migrate(phase="all") for _ in range(5)))
        assert sorted(name for applied in answers for name in applied) == list(pending)
        await finish(empty_store)

    async def test_the_text_is_there_to_be_read(self, empty_store: Store) -> None:
        pending = (await empty_store.schema_status()).pending
        whole = empty_store.migration_sql(pending=None)
        assert "CREATE TABLE" in whole.upper()
        assert empty_store.migration_sql(pending=pending) == whole
        assert "CREATE TABLE" not in empty_store.migration_sql(pending=()).upper()

    async def test_a_store_tells_of_itself_before_and_after(self, empty_store: Store) -> None:
        for _ in range(2):
            found = await empty_store.diagnose()
            product, version = found.product.split()
            assert product in {"PostgreSQL", "SQLite"}
            assert version[0].isdigit()
            assert await empty_store.find_damage() == []
            await empty_store.migrate(phase="all")
