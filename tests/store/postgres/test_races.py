"""Two connections at once: the orders of events that a single caller never sees."""

import asyncio
from typing import Any

import asyncpg
import pytest

from mainspring.domain.job import NewJob, NewSession, Receipt
from mainspring.domain.outcome import ErrorInfo, Failed
from mainspring.domain.states import JobState
from mainspring.ports.store import Lane
from mainspring.store.postgres import PostgresStore
from mainspring.testing.builders import claim_ask, new_job, settlement, verdict
from tests.store.postgres.rivals import Raw, keyed, open_worker, started, until_blocked

pytestmark = pytest.mark.postgres


async def test_no_job_is_claimed_twice(store: PostgresStore, other_store: PostgresStore) -> None:
    await store.submit([new_job() for _ in range(400)])
    stores = [store, other_store] * 4
    workers = [await open_worker(each) for each in stores]

    async def drain(place: PostgresStore, worker: NewSession) -> list[bytes]:
        found: list[bytes] = []
        while claimed := await place.claim(claim_ask(worker.id, limit=7)):
            assert len(claimed) <= 7
            found += [each.job_id for each in claimed]
        return found

    drained = await asyncio.gather(*map(drain, stores, workers))
    every = [job_id for found in drained for job_id in found]
    assert len(every) == len(set(every))
    # A claimer leaves what another has in hand at that moment: ask once more.
    every += await drain(store, workers[0])
    assert len(set(every)) == len(every) == 400


async def test_never_more_than_asked_and_nothing_else_is_held(
    store: PostgresStore, raw: "Raw[asyncpg.Record]"
) -> None:
    await store.submit([new_job(queue=queue) for queue in ("a", "b", "c") for _ in range(20)])
    worker = await open_worker(store)
    asked = claim_ask(worker.id, limit=4, lanes=(Lane("a", 3), Lane("b", 3), Lane("c", 3)))
    claimed = await store.claim(asked)
    assert sorted(job.queue for job in claimed) == ["a", "a", "a", "b"]
    assert await raw.fetchval("SELECT count(*) FROM mainspring.jobs WHERE state = 'running'") == 4


async def test_rows_in_other_hands_are_skipped_not_waited_for(
    store: PostgresStore, raw: "Raw[asyncpg.Record]"
) -> None:
    jobs = [new_job() for _ in range(10)]
    await store.submit(jobs)
    worker = await open_worker(store)
    async with raw.transaction():
        await raw.fetch("SELECT FROM mainspring.jobs ORDER BY due_at, id LIMIT 4 FOR UPDATE")
        claimed = await store.claim(claim_ask(worker.id, limit=3))
        assert [job.job_id for job in claimed] == [job.id for job in jobs[4:7]]


async def test_a_row_that_changed_under_the_claim_is_left_alone(
    store: PostgresStore, other_store: PostgresStore
) -> None:
    jobs = [new_job() for _ in range(200)]
    await store.submit(jobs)
    worker = await open_worker(store)

    async def cancel(job: NewJob) -> bool:
        (result,) = await other_store.cancel([job.id], reason="", force=False, actor="me")
        return result.state is JobState.CANCELLED

    claims, cancels = await asyncio.gather(
        asyncio.gather(*(store.claim(claim_ask(worker.id, limit=5)) for _ in range(40))),
        asyncio.gather(*map(cancel, jobs)),
    )
    taken = {job.job_id for found in claims for job in found}
    cancelled = {job.id for job, done in zip(jobs, cancels, strict=True) if done}
    assert not taken & cancelled


async def test_a_cancel_that_waits_for_a_claim_asks_its_worker_to_stop(
    store: PostgresStore, raw: "Raw[asyncpg.Record]"
) -> None:
    """PostgreSQL checks constraints on the row as it was, before it sees that it has changed."""
    worker, job = await open_worker(store), new_job()
    await store.submit([job])
    transaction = raw.transaction()
    await transaction.start()
    await raw.execute(
        "UPDATE mainspring.jobs SET state = 'running', attempt = 1, tries = 1, worker_id = $1, "
        "child = 0, started_at = now(), deadline_at = now() + interval '1 hour'",
        worker.id.hex(),
    )
    asking = asyncio.create_task(store.cancel([job.id], reason="", force=False, actor="me"))
    await until_blocked(raw, "general")
    await transaction.commit()
    (asked,) = await asking
    assert (asked.state, asked.changed) == (JobState.CANCELLING, True)
    assert await store.get_states([job.id]) == {job.id: JobState.CANCELLING}


async def test_a_row_that_meets_a_partition_in_the_making_goes_into_it(
    store: PostgresStore, other_store: PostgresStore, raw: "Raw[asyncpg.Record]"
) -> None:
    """It was on its way into the default partition when that ceased to be its place."""
    transaction = raw.transaction()
    await transaction.start()
    # Holds up the maker of partitions after it has taken the default partition for itself.
    await raw.execute("LOCK TABLE mainspring.audit IN ROW SHARE MODE")
    await raw.execute("LOCK TABLE mainspring.audit_default IN ROW SHARE MODE")
    making = asyncio.create_task(other_store.prepare_partitions(0))
    await until_blocked(raw, "general")
    pausing = asyncio.create_task(store.pause_queue("default", reason="", actor="me"))
    await until_blocked(raw, "general", 2)
    await transaction.rollback()
    await making
    assert await pausing
    found = await raw.fetchval("SELECT tableoid::regclass::text FROM mainspring.audit")
    assert found != "mainspring.audit_default"


@pytest.mark.parametrize("force", [False, True])
async def test_cancel_against_finish(
    store: PostgresStore, other_store: PostgresStore, *, force: bool
) -> None:
    for job in await started(store, 40):
        (settled,), (cancelled,) = await asyncio.gather(
            store.settle([settlement(job)]),
            other_store.cancel([job.job_id], reason="", force=force, actor="me"),
        )
        final = (await store.get_states([job.job_id]))[job.job_id]
        if force and cancelled.changed:
            assert not settled.accepted
            assert final is JobState.CANCELLED
        else:
            # Whoever commits first wins; an unforced cancel only asks.
            assert settled.accepted
            assert final is JobState.SUCCEEDED
        assert len(await store.list_attempts(job.job_id)) == 1


async def test_cancel_against_retry(store: PostgresStore, other_store: PostgresStore) -> None:
    for job in await started(store, 40):
        (settled,), (cancelled,) = await asyncio.gather(
            store.settle([verdict(job, Failed(ErrorInfo("E", "m")))]),
            other_store.cancel([job.job_id], reason="", force=False, actor="me"),
        )
        assert settled.accepted
        assert cancelled.changed
        final = (await store.get_states([job.job_id]))[job.job_id]
        assert final is JobState.CANCELLED
        assert [one.attempt for one in await store.list_attempts(job.job_id)] == [1]


async def test_a_settlement_sees_a_cancel_that_committed_while_it_waited(
    store: PostgresStore, raw: "Raw[asyncpg.Record]"
) -> None:
    (job,) = await started(store)
    given = verdict(job, Failed(ErrorInfo("E", "m")))
    async with asyncio.TaskGroup() as group, raw.transaction():
        await raw.execute("UPDATE mainspring.jobs SET state = 'cancelling'")
        settling = group.create_task(store.settle([given]))
        await until_blocked(raw, "dispatch")
    assert settling.result()[0].state is JobState.CANCELLED
    assert (await store.settle([given]))[0].repeated


async def test_the_same_settlement_twice_at_once(
    store: PostgresStore, other_store: PostgresStore, raw: "Raw[asyncpg.Record]"
) -> None:
    for outcome in (None, Failed(ErrorInfo("E", "m"))):
        (job,) = await started(store)
        given = settlement(job) if outcome is None else verdict(job, outcome)
        async with asyncio.TaskGroup() as group, raw.transaction():
            await raw.fetch("SELECT FROM mainspring.jobs FOR UPDATE")
            both = [group.create_task(each.settle([given])) for each in (store, other_store)]
            await until_blocked(raw, "dispatch", 2)
        answers = [each.result()[0] for each in both]
        assert sorted(each.accepted for each in answers) == [False, True]
        assert [each.repeated for each in answers if not each.accepted] == [True]


async def test_submitting_again_after_the_job_has_finished(
    store: PostgresStore, raw: "Raw[asyncpg.Record]"
) -> None:
    job = new_job()
    await store.submit([job])
    worker = await open_worker(store)
    (claimed,) = await store.claim(claim_ask(worker.id))
    await store.settle([settlement(claimed)])
    assert await store.submit([job], repeated=True) == [Receipt(job.id, created=False)]
    assert await raw.fetchval("SELECT count(*) FROM mainspring.jobs") == 0


async def test_submitting_again_while_the_job_finishes(
    store: PostgresStore, raw: "Raw[asyncpg.Record]"
) -> None:
    job = new_job()
    await store.submit([job])
    history = (
        "INSERT INTO mainspring.jobs_history (id, created_at, due_at, finished_at, attempt, "
        "timeout_ms, priority, tries, crashes, max_attempts, max_crashes, replays, state, tenant, "
        "queue, kind, payload) SELECT id, created_at, due_at, now(), 1, timeout_ms, priority, "
        "1, 0, 1, 1, 0, 'succeeded', tenant, queue, kind, payload FROM mainspring.jobs"
    )
    async with asyncio.TaskGroup() as group, raw.transaction():
        await raw.execute(history)
        await raw.execute("DELETE FROM mainspring.jobs")
        again = group.create_task(store.submit([job], repeated=True))
        await until_blocked(raw, "submission")
    assert again.result() == [Receipt(job.id, created=False)]
    assert await store.get_states([job.id]) == {job.id: JobState.SUCCEEDED}
    assert await raw.fetchval("SELECT count(*) FROM mainspring.jobs") == 0


async def test_one_key_many_callers(store: PostgresStore, other_store: PostgresStore) -> None:
    stores = [store, other_store] * 10
    answers = await asyncio.gather(*(each.submit([keyed()]) for each in stores))
    receipts = [receipt for (receipt,) in answers]
    assert len({receipt.job_id for receipt in receipts}) == 1
    assert sum(receipt.created for receipt in receipts) == 1
    assert await store.count_states() == {JobState.READY: 1}


@pytest.mark.parametrize("rival_commits", [True, False])
async def test_a_key_that_somebody_is_about_to_take(
    store: PostgresStore, raw: "Raw[asyncpg.Record]", *, rival_commits: bool
) -> None:
    rival = new_job()
    async with asyncio.TaskGroup() as group:
        transaction = raw.transaction()
        await transaction.start()
        await raw.execute(
            "INSERT INTO mainspring.submission_keys (job_id, expires_at, tenant, key, body_hash) "
            "VALUES ($1, now() + interval '1 day', 'default', 'once', $2)",
            rival.id.hex(),
            b"same",
        )
        mine = keyed()
        submitting = group.create_task(store.submit([mine]))
        await until_blocked(raw, "submission")
        await (transaction.commit() if rival_commits else transaction.rollback())
    expected = Receipt(rival.id, created=False) if rival_commits else Receipt(mine.id)
    assert submitting.result() == [expected]


def _unique(**changes: Any) -> NewJob:
    return new_job(**{"unique_key": "one", **changes})


@pytest.mark.parametrize("on_duplicate", ["existing", "reject", "replace"])
async def test_one_unique_key_many_callers(
    store: PostgresStore, other_store: PostgresStore, on_duplicate: str
) -> None:
    stores = [store, other_store] * 20
    answers = await asyncio.gather(
        *(each.submit([_unique(on_duplicate=on_duplicate)]) for each in stores)
    )
    receipts = [receipt for (receipt,) in answers]
    assert len({receipt.job_id for receipt in receipts}) == 1
    assert sum(receipt.created for receipt in receipts) == 1
    others = [receipt for receipt in receipts if not receipt.created]
    assert all(receipt.duplicate is (on_duplicate == "reject") for receipt in others)
    assert all(receipt.replaced is (on_duplicate == "replace") for receipt in others)
    assert await store.count_states() == {JobState.READY: 1}


@pytest.mark.parametrize("rival_commits", [True, False])
async def test_a_unique_key_that_somebody_is_about_to_take(
    store: PostgresStore, raw: "Raw[asyncpg.Record]", *, rival_commits: bool
) -> None:
    rival, mine = new_job(), _unique()
    async with asyncio.TaskGroup() as group:
        transaction = raw.transaction()
        await transaction.start()
        await raw.execute(
            "INSERT INTO mainspring.jobs (id, created_at, due_at, timeout_ms, priority, "
            "max_attempts, max_crashes, state, tenant, queue, kind, payload, unique_key, "
            "unique_while) VALUES ($1, now(), now(), 1, 2, 1, 1, 'ready', 'default', 'default', "
            "'k', '{}', 'one', 'live')",
            rival.id.hex(),
        )
        submitting = group.create_task(store.submit([mine]))
        await until_blocked(raw, "submission")
        await (transaction.commit() if rival_commits else transaction.rollback())
    expected = Receipt(rival.id, created=False) if rival_commits else Receipt(mine.id)
    assert submitting.result() == [expected]


@pytest.mark.parametrize("on_duplicate", ["existing", "reject", "replace"])
async def test_a_unique_key_whose_holder_ends_meanwhile(
    store: PostgresStore, raw: "Raw[asyncpg.Record]", on_duplicate: str
) -> None:
    holder, mine = _unique(), _unique(on_duplicate=on_duplicate)
    await store.submit([holder])
    async with asyncio.TaskGroup() as group:
        transaction = raw.transaction()
        await transaction.start()
        await raw.execute("DELETE FROM mainspring.jobs")
        submitting = group.create_task(store.submit([mine]))
        await until_blocked(raw, "submission")
        await transaction.commit()
    assert submitting.result() == [Receipt(mine.id)]


async def test_a_replacement_against_a_claim(
    store: PostgresStore, raw: "Raw[asyncpg.Record]"
) -> None:
    holder, mine = _unique(payload=b"1"), _unique(payload=b"2", on_duplicate="replace")
    await store.submit([holder])
    async with asyncio.TaskGroup() as group:
        transaction = raw.transaction()
        await transaction.start()
        await raw.execute("UPDATE mainspring.jobs SET attempt = 1, tries = 1")
        submitting = group.create_task(store.submit([mine]))
        await until_blocked(raw, "submission")
        await transaction.commit()
    # It was begun while the replacement waited for it, so it stays as it is.
    assert submitting.result() == [Receipt(holder.id, created=False)]
    found = await store.get_job(holder.id)
    assert found is not None
    assert found.payload == b"1"


async def test_keys_that_come_and_go_under_many_callers(
    store: PostgresStore, other_store: PostgresStore, raw: "Raw[asyncpg.Record]"
) -> None:
    words = ("existing", "reject", "replace")

    async def submit(place: PostgresStore, number: int) -> int:
        created = 0
        for turn in range(25):
            on_duplicate = words[(number + turn) % 3]
            keys = ["a", "b"][:: 1 if number % 2 else -1]
            jobs = [_unique(unique_key=key, on_duplicate=on_duplicate) for key in keys]
            created += sum(receipt.created for receipt in await place.submit(jobs))
        return created

    async def finish(place: PostgresStore) -> None:
        worker = await open_worker(place)
        for _ in range(60):
            claimed = await place.claim(claim_ask(worker.id, limit=1))
            await place.settle([settlement(job) for job in claimed])

    places = [store, other_store] * 4
    async with asyncio.TaskGroup() as group:
        made = [group.create_task(submit(place, n)) for n, place in enumerate(places)]
        for place in (store, other_store):
            group.create_task(finish(place))
    total = sum((await store.count_states()).values())
    assert total == sum(task.result() for task in made) > 2
