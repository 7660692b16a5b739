"""People change what is under way: ``ControlStore``."""

from datetime import timedelta

from mainspring.domain.states import AttemptState, JobState
from mainspring.ports.store import CancelResult, Store
from mainspring.testing.builders import log_line, new_job, settlement, verdict
from mainspring.testing.clock import SettableClock
from mainspring.testing.conformance.steps import (
    FAILED,
    FAILED_FOR_GOOD,
    SUCCEEDED,
    Suite,
    absent,
    accept,
    claim,
    claim_one,
    counts,
    finish,
    ids,
    make_dead,
    open_worker,
    start,
    state_of,
    states_of,
    submit_many,
    submit_one,
    view,
)


async def _cancel(store: Store, *job_ids: bytes, force: bool = False) -> list[CancelResult]:
    found = await store.cancel(job_ids, reason="stop it", force=force, actor="me")
    assert sorted(result.job_id for result in found) == sorted(job_ids)
    return [result for job_id in job_ids for result in found if result.job_id == job_id]


class CancelSuite(Suite):
    """Every state, with and without force."""

    async def test_waiting_jobs_are_final_at_once(self, store: Store, clock: SettableClock) -> None:
        failed = await start(store)
        await accept(store, failed, FAILED)
        retrying = failed.job_id
        ready = await submit_one(store)
        scheduled = await submit_one(store, delay_ms=60_000)
        clock.advance(0.5)
        results = await _cancel(store, ready, scheduled, retrying)
        for result in results:
            assert result == CancelResult(result.job_id, JobState.CANCELLED, changed=True)
            found = await view(store, result.job_id)
            assert (found.state, found.reason) == (JobState.CANCELLED, "stop it")
            assert found.finished_at == clock.now()
        assert await claim(store, await open_worker(store)) == []
        # What never ran has no attempt; what ran keeps its one attempt as it ended.
        assert await store.list_attempts(ready) == []
        closed = await store.list_attempts(retrying)
        assert [(one.attempt, one.state) for one in closed] == [(1, AttemptState.FAILED)]

    async def test_a_running_job_is_cancelling_and_its_worker_is_named(self, store: Store) -> None:
        claimed = await start(store)
        worker = (await view(store, claimed.job_id)).worker_id
        expected = CancelResult(claimed.job_id, JobState.CANCELLING, changed=True, worker_id=worker)
        assert await _cancel(store, claimed.job_id) == [expected]
        found = await view(store, claimed.job_id)
        assert (found.state, found.worker_id, found.attempt) == (JobState.CANCELLING, worker, 1)
        assert found.deadline_at == claimed.deadline_at
        again = (await _cancel(store, claimed.job_id))[0]
        assert (again.state, again.changed) == (JobState.CANCELLING, False)
        assert again.worker_id == worker

    async def test_force_ends_running_jobs_at_once(
        self, store: Store, clock: SettableClock
    ) -> None:
        running, cancelling = (await start(store)), (await start(store))
        await _cancel(store, cancelling.job_id)
        waiting = await submit_one(store)
        clock.advance(1)
        results = await _cancel(store, running.job_id, cancelling.job_id, waiting, force=True)
        for result in results:
            assert (result.state, result.changed) == (JobState.CANCELLED, True)
            found = await view(store, result.job_id)
            assert (found.state, found.reason) == (JobState.CANCELLED, "stop it")
            assert found.finished_at == clock.now()
        for claimed in (running, cancelling):
            (closed,) = await store.list_attempts(claimed.job_id)
            assert (closed.attempt, closed.state) == (1, AttemptState.CANCELLED)
            assert (closed.started_at, closed.ended_at) == (claimed.started_at, clock.now())
            assert not (await store.settle([settlement(claimed)]))[0].accepted
        assert [worker.running for worker in await store.list_workers()] == [0, 0]

    async def test_a_final_job_stays_as_it_is(self, store: Store, clock: SettableClock) -> None:
        done, dead = (await finish(store)).job_id, (await make_dead(store)).job_id
        cancelled = await submit_one(store)
        await _cancel(store, cancelled)
        before = [await view(store, job_id) for job_id in (done, dead, cancelled)]
        clock.advance(1)
        for force in (False, True):
            assert await _cancel(store, done, dead, cancelled, force=force) == [
                CancelResult(done, JobState.SUCCEEDED, changed=False),
                CancelResult(dead, JobState.DEAD, changed=False),
                CancelResult(cancelled, JobState.CANCELLED, changed=False),
            ]
        assert [await view(store, job_id) for job_id in (done, dead, cancelled)] == before

    async def test_an_unknown_job_has_no_state(self, store: Store) -> None:
        unknown, known = new_job().id, await submit_one(store)
        for force in (False, True):
            found = (await _cancel(store, unknown, known, force=force))[0]
            assert found == CancelResult(unknown, None, changed=False)
        assert await _cancel(store) == []

    async def test_only_the_jobs_named(self, store: Store) -> None:
        job_ids = await submit_many(store, 3)
        await _cancel(store, job_ids[1])
        assert await states_of(store, job_ids) == [
            JobState.READY,
            JobState.CANCELLED,
            JobState.READY,
        ]

    async def test_a_thousand_in_one_call(self, store: Store) -> None:
        job_ids = await submit_many(store, 1_000)
        assert all(result.changed for result in await _cancel(store, *job_ids))
        assert await counts(store) == {JobState.CANCELLED: 1_000}


class RunNowSuite(Suite):
    """Waiting becomes due."""

    async def test_waiting_jobs_are_due_now(self, store: Store, clock: SettableClock) -> None:
        retrying = await start(store)
        await accept(store, retrying, FAILED)
        scheduled = await submit_one(store, delay_ms=60_000)
        clock.advance(timedelta(microseconds=5))
        assert set(await store.run_now([retrying.job_id, scheduled], actor="me")) == {
            retrying.job_id,
            scheduled,
        }
        for job_id in (retrying.job_id, scheduled):
            found = await view(store, job_id)
            assert (found.state, found.due_at) == (JobState.READY, clock.now())
        claimed = await claim(store, await open_worker(store))
        assert {job.job_id: job.attempt for job in claimed} == {scheduled: 1, retrying.job_id: 2}

    async def test_what_has_fallen_due_keeps_its_place(
        self, store: Store, clock: SettableClock
    ) -> None:
        first = await submit_one(store, delay_ms=1_000)
        clock.advance(5)
        second = await submit_one(store)
        assert await store.run_now([first], actor="me") == []
        assert ids(await claim(store, await open_worker(store))) == [first, second]

    async def test_nothing_else_is_touched(self, store: Store) -> None:
        running = (await start(store)).job_id
        cancelling = (await start(store)).job_id
        await _cancel(store, cancelling)
        done, dead = (await finish(store)).job_id, (await make_dead(store)).job_id
        ready = await submit_one(store)
        known = [running, cancelling, done, dead, ready]
        before = [await view(store, job_id) for job_id in known]
        assert await store.run_now([*known, new_job().id], actor="me") == []
        assert [await view(store, job_id) for job_id in known] == before
        assert await store.run_now([], actor="me") == []

    async def test_twice_is_once(self, store: Store) -> None:
        scheduled = await submit_one(store, delay_ms=60_000)
        assert await store.run_now([scheduled], actor="me") == [scheduled]
        assert await store.run_now([scheduled], actor="me") == []


class ReplaySuite(Suite):
    """Dead jobs come back, or go for good."""

    async def test_a_replayed_job_begins_again_and_keeps_its_history(
        self, store: Store, clock: SettableClock
    ) -> None:
        first = await start(store, payload=b"1", queue="default", max_attempts=2)
        await accept(store, first, FAILED, delay_ms=0)
        await accept(store, await claim_one(store, await open_worker(store)), FAILED)
        before = await store.list_attempts(first.job_id)
        assert [one.attempt for one in before] == [1, 2]
        clock.advance(timedelta(days=3))
        assert await store.replay([first.job_id], payload=None, actor="me") == [first.job_id]
        found = await view(store, first.job_id)
        assert (found.state, found.due_at) == (JobState.READY, clock.now())
        assert (found.attempt, found.tries, found.crashes, found.replays) == (2, 0, 0, 1)
        assert absent(found.finished_at, found.worker_id, found.started_at)
        assert (found.payload, found.created_at) == (b"1", first.created_at)
        assert await store.list_attempts(first.job_id) == before
        third = await claim_one(store, await open_worker(store))
        assert (third.attempt, third.tries, third.crashes) == (3, 1, 1)
        await accept(store, third, SUCCEEDED)
        history = await store.list_attempts(first.job_id)
        assert history[:2] == before
        assert [(one.attempt, one.state) for one in history] == [
            (1, AttemptState.FAILED),
            (2, AttemptState.FAILED),
            (3, AttemptState.SUCCEEDED),
        ]
        assert (await view(store, first.job_id)).replays == 1

    async def test_a_job_may_die_and_come_back_again(self, store: Store) -> None:
        first = await make_dead(store)
        for number in (1, 2, 3):
            assert await store.replay([first.job_id], payload=None, actor="me") == [first.job_id]
            claimed = await claim_one(store, await open_worker(store))
            assert claimed.attempt == number + 1
            await accept(store, claimed, FAILED_FOR_GOOD)
            assert (await view(store, first.job_id)).replays == number
        assert [one.attempt for one in await store.list_attempts(first.job_id)] == [1, 2, 3, 4]

    async def test_everything_given_at_submission_survives(self, store: Store) -> None:
        given = {
            "priority": 0,
            "max_attempts": 3,
            "max_crashes": 2,
            "timeout_ms": 5_000,
            "on_exhausted": "test.bury",
            "effect_key": "effect",
            "payload_ref": "blob/1",
        }
        dead = await make_dead(store, **given)
        await store.replay([dead.job_id], payload=None, actor="me")
        claimed = await claim_one(store, await open_worker(store))
        for name, value in given.items():
            assert getattr(claimed, name) == value, name
        assert claimed.backoff == dead.backoff

    async def test_a_new_payload_replaces_the_old(self, store: Store) -> None:
        dead = [await make_dead(store, payload=b"1") for _ in range(2)]
        back = await store.replay(ids(dead), payload='{"n":"€"}'.encode(), actor="me")
        assert set(back) == set(ids(dead))
        for job in await claim(store, await open_worker(store)):
            assert job.payload == '{"n":"€"}'.encode()

    async def test_only_dead_jobs_come_back(self, store: Store) -> None:
        done, running = (await finish(store)).job_id, (await start(store)).job_id
        cancelled, ready = await submit_many(store, 2)
        await _cancel(store, cancelled)
        known = [done, running, cancelled, ready]
        before = [await view(store, job_id) for job_id in known]
        assert await store.replay([*known, new_job().id], payload=b"2", actor="me") == []
        assert [await view(store, job_id) for job_id in known] == before
        assert await store.replay([], payload=None, actor="me") == []

    async def test_twice_is_once(self, store: Store) -> None:
        dead = (await make_dead(store)).job_id
        assert await store.replay([dead], payload=None, actor="me") == [dead]
        assert await store.replay([dead], payload=None, actor="me") == []
        assert await counts(store) == {JobState.READY: 1}

    async def test_a_purge_leaves_nothing(self, store: Store) -> None:
        first = await start(store, payload_ref="blob/payload")
        await store.append_logs([log_line(first, 1)])
        await accept(store, first, FAILED, delay_ms=0)
        second = await claim_one(store, await open_worker(store))
        last = verdict(second, FAILED_FOR_GOOD, result_ref="blob/result")
        assert (await store.settle([last]))[0].accepted
        kept = await make_dead(store, payload_ref="blob/kept")
        references = await store.purge([first.job_id], actor="me")
        assert set(references) == {"blob/payload", "blob/result"}
        assert await store.get_job(first.job_id) is None
        assert await store.list_attempts(first.job_id) == []
        assert await store.list_logs(first.job_id, after=None, limit=10) == []
        assert await counts(store) == {JobState.DEAD: 1}
        assert await state_of(store, kept.job_id) is JobState.DEAD
        assert await store.purge([first.job_id], actor="me") == []
        assert await store.replay([first.job_id], payload=None, actor="me") == []

    async def test_a_purge_takes_dead_jobs_only(self, store: Store) -> None:
        done = (await finish(store, payload_ref="blob/1")).job_id
        running = (await start(store, payload_ref="blob/2")).job_id
        ready = await submit_one(store, payload_ref="blob/3")
        assert await store.purge([done, running, ready, new_job().id], actor="me") == []
        assert await store.purge([], actor="me") == []
        assert await states_of(store, (done, running, ready)) == [
            JobState.SUCCEEDED,
            JobState.RUNNING,
            JobState.READY,
        ]


class PauseSuite(Suite):
    """Queues stand still."""

    async def test_pause_and_resume_tell_whether_they_changed_something(self, store: Store) -> None:
        assert await store.resume_queue("a", actor="me") is False
        assert await store.pause_queue("a", reason="repair", actor="me") is True
        assert await store.pause_queue("a", reason="again", actor="me") is False
        assert await store.resume_queue("a", actor="me") is True
        assert await store.resume_queue("a", actor="me") is False
        assert await store.pause_queue("a", reason="repair", actor="me") is True

    async def test_a_pause_is_seen_with_its_reason(
        self, store: Store, clock: SettableClock
    ) -> None:
        await store.pause_queue("a", reason="repair €", actor="me")
        paused_at = clock.now()
        clock.advance(1)
        await store.pause_queue("a", reason="again", actor="me")
        (found,) = [queue for queue in await store.list_queues() if queue.name == "a"]
        assert (found.paused_at, found.paused_reason) == (paused_at, "repair €")
        assert (found.ready, found.running, found.oldest_ready_at) == (0, 0, None)
        await submit_one(store, queue="a")
        await store.resume_queue("a", actor="me")
        (found,) = [queue for queue in await store.list_queues() if queue.name == "a"]
        assert (found.paused_at, found.paused_reason, found.ready) == (None, None, 1)

    async def test_what_runs_in_a_paused_queue_goes_on(self, store: Store) -> None:
        claimed = await start(store)
        await store.pause_queue("default", reason="repair", actor="me")
        await accept(store, claimed, FAILED, delay_ms=0)
        assert await claim(store, await open_worker(store)) == []
        assert await state_of(store, claimed.job_id) is JobState.READY
        await store.resume_queue("default", actor="me")
        await accept(store, await claim_one(store, await open_worker(store)), SUCCEEDED)

    async def test_jobs_come_in_while_a_queue_is_paused(self, store: Store) -> None:
        await store.pause_queue("default", reason="repair", actor="me")
        await submit_many(store, 3)
        assert await claim(store, await open_worker(store)) == []
        await store.resume_queue("default", actor="me")
        assert len(await claim(store, await open_worker(store))) == 3
