"""Look without changing: ``QueryStore``."""

from datetime import UTC, datetime, timedelta

from mainspring.domain.job import JobFilter, JobView
from mainspring.domain.states import AttemptState, JobState
from mainspring.ports.store import Store
from mainspring.testing.builders import id_at, ids_at, lanes, new_job, settlement
from mainspring.testing.clock import SettableClock
from mainspring.testing.conformance.steps import (
    FAILED,
    FAILED_FOR_GOOD,
    SUCCEEDED,
    Suite,
    accept,
    claim,
    claim_one,
    counts,
    finish,
    make_dead,
    open_worker,
    start,
    state_of,
    submit,
    submit_many,
    submit_one,
    view,
)

_EVERYTHING = JobFilter()
_MICROSECOND = timedelta(microseconds=1)


async def _pages(store: Store, wanted: JobFilter, limit: int) -> list[JobView]:
    """Return all pages; none may be larger than asked."""
    found: list[JobView] = []
    before: bytes | None = None
    while True:
        page = await store.list_jobs(wanted, limit=limit, before=before)
        assert len(page.items) <= limit
        found += page.items
        if page.next_before is None:
            return found
        assert page.items, "a page that goes on has something on it"
        before = page.next_before


async def _listed(store: Store, **wanted: object) -> set[bytes]:
    found = await _pages(store, JobFilter(**wanted), 3)  # type: ignore[arg-type]  # names vary
    assert len({job.id for job in found}) == len(found)
    return {job.id for job in found}


class LookSuite(Suite):
    """One job: itself, its state, its attempts."""

    async def test_now_is_the_clock_of_the_store(self, store: Store, clock: SettableClock) -> None:
        for instant in (clock.now(), datetime(2999, 12, 31, 23, 59, 59, 999_999, tzinfo=UTC)):
            clock.set(instant)
            assert await store.now() == instant
            assert (await store.now()).utcoffset() == timedelta(0)

    async def test_instants_come_back_aware_and_in_utc(self, store: Store) -> None:
        found = await view(store, (await finish(store)).job_id)
        for instant in (found.due_at, found.created_at, found.started_at, found.finished_at):
            assert instant is not None
            assert instant.utcoffset() == timedelta(0)

    async def test_an_unknown_job_is_not_found(self, store: Store) -> None:
        unknown = new_job().id
        assert await store.get_job(unknown) is None
        assert await store.get_states([unknown]) == {}
        assert await store.list_attempts(unknown) == []

    async def test_a_waiting_job_is_ready_from_the_instant_it_is_due(
        self, store: Store, clock: SettableClock
    ) -> None:
        scheduled = await submit_one(store, delay_ms=1_000)
        retrying = await start(store)
        await accept(store, retrying, FAILED, delay_ms=1_000)
        for passed, expected in (
            (timedelta(seconds=1) - _MICROSECOND, (JobState.SCHEDULED, JobState.RETRYING)),
            (_MICROSECOND, (JobState.READY, JobState.READY)),
            (timedelta(days=1), (JobState.READY, JobState.READY)),
        ):
            clock.advance(passed)
            for job_id, state in zip((scheduled, retrying.job_id), expected, strict=True):
                assert await state_of(store, job_id) is state
                assert await store.get_states([job_id]) == {job_id: state}
                assert job_id in await _listed(store, states=frozenset({state}))
                others = frozenset(JobState) - {state}
                assert job_id not in await _listed(store, states=others)
            waiting = {state: expected.count(state) for state in expected}
            assert await counts(store) == waiting
            (queue,) = await store.list_queues()
            assert (queue.ready, queue.scheduled, queue.retrying) == tuple(
                expected.count(state)
                for state in (JobState.READY, JobState.SCHEDULED, JobState.RETRYING)
            )

    async def test_states_of_many_live_and_final(self, store: Store) -> None:
        done, running = (await finish(store)).job_id, (await start(store)).job_id
        dead = (await make_dead(store)).job_id
        waiting = await submit_many(store, 1_000)
        found = await store.get_states([done, running, dead, new_job().id, *waiting])
        assert found == {
            done: JobState.SUCCEEDED,
            running: JobState.RUNNING,
            dead: JobState.DEAD,
        } | dict.fromkeys(waiting, JobState.READY)
        assert await store.get_states([]) == {}
        assert await store.get_states({done}) == {done: JobState.SUCCEEDED}

    async def test_attempts_are_told_in_order_closed_final_and_open(self, store: Store) -> None:
        first = await start(store, max_attempts=30)
        worker = await open_worker(store)
        await accept(store, first, FAILED, delay_ms=0)
        for _ in range(11):
            await accept(store, await claim_one(store, worker), FAILED, delay_ms=0)
        last = await claim_one(store, worker)
        found = await store.list_attempts(first.job_id)
        assert [one.attempt for one in found] == list(range(1, 14))
        assert {one.state for one in found[:-1]} == {AttemptState.FAILED}
        assert (found[-1].state, found[-1].ended_at) == (AttemptState.RUNNING, None)
        await accept(store, last, SUCCEEDED)
        again = await store.list_attempts(first.job_id)
        assert again[:-1] == found[:-1]
        assert again[-1].state is AttemptState.SUCCEEDED
        assert {one.job_id for one in again} == {first.job_id}

    async def test_looking_changes_nothing(self, store: Store, clock: SettableClock) -> None:
        claimed = await start(store)
        await submit_one(store, delay_ms=1_000)
        before = await _pages(store, _EVERYTHING, 10)
        for _ in range(2):
            await store.get_job(claimed.job_id)
            await store.list_queues()
            await store.list_workers()
            await store.count_states()
        assert await _pages(store, _EVERYTHING, 10) == before


class ListSuite(Suite):
    """Many jobs: pages and filters."""

    async def test_newest_first_by_id(self, store: Store, clock: SettableClock) -> None:
        job_ids = ids_at(clock.now(), 20) + [
            id_at(clock.now() + timedelta(days=days)) for days in (-300, 300)
        ]
        await submit(store, *(new_job(id=job_id) for job_id in job_ids[::3] + job_ids[1::3]))
        await submit(store, *(new_job(id=job_id) for job_id in job_ids[2::3]))
        for limit in (1, 7, 22, 500):
            found = await _pages(store, _EVERYTHING, limit)
            assert [job.id for job in found] == sorted(job_ids, reverse=True)

    async def test_a_cursor_is_exclusive_and_need_not_exist(
        self, store: Store, clock: SettableClock
    ) -> None:
        job_ids = ids_at(clock.now(), 6)
        await submit(store, *(new_job(id=job_id) for job_id in (*job_ids[:3], *job_ids[4:])))
        for before, expected in (
            (job_ids[4], job_ids[:3]),
            (job_ids[3], job_ids[:3]),
            (job_ids[0], []),
            (b"\xff" * 16, [*job_ids[:3], *job_ids[4:]]),
        ):
            page = await store.list_jobs(_EVERYTHING, limit=10, before=before)
            assert [job.id for job in page.items] == expected[::-1]
            assert page.next_before is None

    async def test_an_empty_store_is_an_empty_page(self, store: Store) -> None:
        page = await store.list_jobs(_EVERYTHING, limit=10, before=None)
        assert (page.items, page.next_before) == ((), None)

    async def test_live_and_final_together(self, store: Store, clock: SettableClock) -> None:
        job_ids = ids_at(clock.now(), 30)
        await submit(store, *(new_job(id=job_id) for job_id in job_ids))
        claimed = await claim(store, await open_worker(store), limit=20)
        for number, job in enumerate(claimed):
            if number % 3:
                await accept(store, job, (SUCCEEDED, FAILED_FOR_GOOD)[number % 2])
        found = await _pages(store, _EVERYTHING, 4)
        assert [job.id for job in found] == job_ids[::-1]
        for shown in found:
            assert shown == await store.get_job(shown.id)

    async def test_no_gap_and_no_double_while_rows_end_between_pages(
        self, store: Store, clock: SettableClock
    ) -> None:
        job_ids = ids_at(clock.now(), 40)
        await submit(store, *(new_job(id=job_id) for job_id in job_ids))
        claimed = {job.job_id: job for job in await claim(store, await open_worker(store))}
        found: list[bytes] = []
        before: bytes | None = None
        for number in range(10):
            page = await store.list_jobs(_EVERYTHING, limit=4, before=before)
            found += [job.id for job in page.items]
            before = page.next_before
            # One that was shown, the next one to be shown, and one of the last ones end now.
            for position in (39 - number * 4, 35 - number * 4, number):
                job = claimed.pop(job_ids[position], None) if position >= 0 else None
                if job is not None:
                    await accept(store, job, SUCCEEDED)
            await submit_one(store, id=id_at(clock.now() + timedelta(hours=1), number))
        assert found == job_ids[::-1]

    async def test_filters(self, store: Store, clock: SettableClock) -> None:
        a = await submit_one(store, kind="a", queue="one")
        b = await submit_one(store, kind="b", queue="two")
        c = await submit_one(store, kind="c", queue="two", tenant="other")
        scheduled = await submit_one(store, kind="a", queue="two", delay_ms=60_000)
        worker = await open_worker(store)
        wanted = {"kinds": ("a", "b", "c"), "lanes": lanes({"one": 1})}
        await accept(store, await claim_one(store, worker, **wanted), SUCCEEDED)
        every = {a, b, c, scheduled}
        assert await _listed(store) == every
        assert await _listed(store, states=frozenset({JobState.SUCCEEDED})) == {a}
        assert await _listed(store, states=frozenset({JobState.READY})) == {b, c}
        assert await _listed(store, states=frozenset({JobState.SCHEDULED})) == {scheduled}
        mixed = frozenset({JobState.SUCCEEDED, JobState.SCHEDULED, JobState.DEAD})
        assert await _listed(store, states=mixed) == {a, scheduled}
        assert await _listed(store, kinds=frozenset({"a"})) == {a, scheduled}
        assert await _listed(store, kinds=frozenset({"a", "c"})) == {a, c, scheduled}
        assert await _listed(store, queues=frozenset({"two"})) == {b, c, scheduled}
        assert await _listed(store, tenant="other") == {c}
        assert await _listed(store, tenant="default") == every - {c}
        assert await _listed(store, kinds=frozenset({"a"}), queues=frozenset({"two"})) == {
            scheduled
        }
        assert await _listed(store, kinds=frozenset({"none"})) == set()

    async def test_every_state_can_be_asked_for(self, store: Store) -> None:
        expected: dict[JobState, set[bytes]] = {state: set() for state in JobState}
        for outcome in (SUCCEEDED, FAILED_FOR_GOOD, FAILED):
            claimed = await start(store)
            settled = await accept(store, claimed, outcome)
            assert settled.state is not None
            expected[settled.state].add(claimed.job_id)
        cancelling, cancelled = [(await start(store)).job_id for _ in range(2)]
        await store.cancel([cancelling], reason="", force=False, actor="me")
        await store.cancel([cancelled], reason="", force=True, actor="me")
        expected[JobState.CANCELLING].add(cancelling)
        expected[JobState.CANCELLED].add(cancelled)
        expected[JobState.RUNNING].add((await start(store)).job_id)
        expected[JobState.READY] |= set(await submit_many(store, 2))
        expected[JobState.SCHEDULED].add(await submit_one(store, delay_ms=5_000))
        for state, job_ids in expected.items():
            assert await _listed(store, states=frozenset({state})) == job_ids, state
        assert await counts(store) == {
            state: len(job_ids) for state, job_ids in expected.items() if job_ids
        }

    async def test_filters_by_the_end(self, store: Store, clock: SettableClock) -> None:
        begun_at = clock.now()
        done = []
        for _ in range(3):
            clock.advance(10)
            done.append((await finish(store)).job_id)
        await submit_one(store)
        middle = begun_at + timedelta(seconds=20)
        after, before = middle - _MICROSECOND, middle + _MICROSECOND
        assert await _listed(store, finished_after=after) == set(done[1:])
        assert await _listed(store, finished_before=before) == set(done[:2])
        assert await _listed(store, finished_after=after, finished_before=before) == {done[1]}


class QueueSuite(Suite):
    """Queues and sums."""

    async def test_queues_with_jobs(self, store: Store, clock: SettableClock) -> None:
        begun_at = clock.now()
        await submit_one(store, queue="a", due_at=begun_at - timedelta(seconds=5))
        await submit_many(store, 2, queue="a")
        await submit_one(store, queue="a", delay_ms=60_000)
        await submit_one(store, queue="b", delay_ms=60_000)
        await submit_many(store, 2, queue="c")
        running, failed = await claim(store, await open_worker(store), lanes=lanes({"c": 2}))
        await accept(store, failed, FAILED)
        found = {queue.name: queue for queue in await store.list_queues()}
        assert set(found) == {"a", "b", "c"}
        assert (found["a"].ready, found["a"].scheduled) == (3, 1)
        assert found["a"].oldest_ready_at == begun_at - timedelta(seconds=5)
        assert (found["b"].ready, found["b"].scheduled) == (0, 1)
        assert found["b"].oldest_ready_at is None
        assert (found["c"].running, found["c"].retrying, found["c"].ready) == (1, 1, 0)
        assert all(queue.paused_at is None for queue in found.values())
        clock.advance(120)
        found = {queue.name: queue for queue in await store.list_queues()}
        assert (found["b"].ready, found["b"].scheduled) == (1, 0)
        assert found["b"].oldest_ready_at == begun_at + timedelta(seconds=60)
        assert (found["c"].running, found["c"].retrying, found["c"].ready) == (1, 0, 1)
        await store.settle([settlement(running)])

    async def test_the_sum_of_states_is_what_came_in_less_what_was_purged(
        self, store: Store
    ) -> None:
        await submit_many(store, 12)
        worker = await open_worker(store)
        claimed = await claim(store, worker, limit=9)
        for number, job in enumerate(claimed):
            await accept(store, job, (SUCCEEDED, FAILED, FAILED_FOR_GOOD)[number % 3])
        dead = await _listed(store, states=frozenset({JobState.DEAD}))
        assert sum((await store.count_states()).values()) == 12
        await store.purge([dead.pop()], actor="me")
        await store.replay([dead.pop()], payload=None, actor="me")
        assert await counts(store) == {
            JobState.READY: 4,
            JobState.RETRYING: 3,
            JobState.SUCCEEDED: 3,
            JobState.DEAD: 1,
        }
