"""Attempts go on: ``pulse``, ``append_logs`` and what can be seen of them."""

from datetime import timedelta

from mainspring.domain.outcome import Snoozed
from mainspring.domain.states import JobState
from mainspring.ports.store import Store
from mainspring.testing.builders import log_line, new_job, progress
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
    open_worker,
    start,
    submit_many,
    view,
)


class PulseSuite(Suite):
    """Progress goes in, what to stop comes back."""

    async def test_nothing_held_nothing_told(self, store: Store) -> None:
        pulse = await store.pulse(await open_worker(store), [], [])
        assert (pulse.cancelling, pulse.lost) == ((), ())

    async def test_cancelling_and_lost_are_told_apart(self, store: Store) -> None:
        await submit_many(store, 5)
        worker = await open_worker(store)
        running, cancelling, done, freed, forced = await claim(store, worker)
        await store.cancel([cancelling.job_id], reason="stop", force=False, actor="me")
        await store.cancel([forced.job_id], reason="stop", force=True, actor="me")
        await accept(store, done, SUCCEEDED)
        await accept(store, freed, FAILED)
        unknown = new_job().id
        held = [(job.job_id, 1) for job in (running, cancelling, done, freed, forced)]
        pulse = await store.pulse(worker, [*held, (unknown, 1)], [])
        assert set(pulse.cancelling) == {cancelling.job_id}
        assert set(pulse.lost) == {done.job_id, freed.job_id, forced.job_id, unknown}

    async def test_another_attempt_number_is_lost(self, store: Store) -> None:
        first = await start(store)
        await accept(store, first, Snoozed(0))
        worker = await open_worker(store)
        second = await claim_one(store, worker)
        for attempt in (0, 1, 3):
            pulse = await store.pulse(worker, [(second.job_id, attempt)], [])
            assert (pulse.cancelling, pulse.lost) == ((), (second.job_id,))
        assert (await store.pulse(worker, [(second.job_id, 2)], [])).lost == ()

    async def test_progress_of_held_attempts_is_seen(self, store: Store) -> None:
        await submit_many(store, 2)
        worker = await open_worker(store)
        first, second = await claim(store, worker)
        await store.cancel([second.job_id], reason="stop", force=False, actor="me")
        await store.pulse(
            worker,
            [(first.job_id, 1), (second.job_id, 1)],
            [progress(first, 0.5, total=2.0, note="half €"), progress(second, 7)],
        )
        found = await view(store, first.job_id)
        assert (found.progress_done, found.progress_total) == (0.5, 2.0)
        assert found.progress_note == "half €"
        assert found.state is JobState.RUNNING
        other = await view(store, second.job_id)
        assert (other.progress_done, other.progress_total) == (7.0, None)
        await store.pulse(worker, [], [progress(first, 1.5, total=2.0, note="more")])
        assert (await view(store, first.job_id)).progress_done == 1.5

    async def test_progress_of_stale_attempts_is_dropped(self, store: Store) -> None:
        first = await start(store)
        await accept(store, first, FAILED, delay_ms=0)
        worker = await open_worker(store)
        await store.pulse(worker, [], [progress(first, 1)])
        assert (await view(store, first.job_id)).progress_done is None
        second = await claim_one(store, worker)
        pulse = await store.pulse(worker, [(first.job_id, 1)], [progress(first, 1)])
        assert pulse.lost == (first.job_id,)
        assert (await view(store, first.job_id)).progress_done is None
        await store.pulse(worker, [], [progress(second, 2)])
        assert (await view(store, first.job_id)).progress_done == 2.0

    async def test_a_new_attempt_begins_without_progress(self, store: Store) -> None:
        first = await start(store)
        worker = await open_worker(store)
        await store.pulse(worker, [], [progress(first, 9, total=10.0, note="nearly")])
        await accept(store, first, FAILED, delay_ms=0)
        await claim_one(store, worker)
        found = await view(store, first.job_id)
        assert absent(found.progress_done, found.progress_total, found.progress_note)

    async def test_a_pulse_changes_no_state(self, store: Store, clock: SettableClock) -> None:
        claimed = await start(store)
        before = await view(store, claimed.job_id)
        clock.advance(1)
        await store.pulse(await open_worker(store), [(claimed.job_id, 1)], [])
        assert await view(store, claimed.job_id) == before


class LogSuite(Suite):
    """Lines of held attempts are kept once, and come back in order."""

    async def test_lines_come_back_as_they_were(self, store: Store, clock: SettableClock) -> None:
        claimed = await start(store)
        lines = [
            log_line(claimed, 1, at=clock.now(), level="debug", message="", fields='{"a":1}'),
            log_line(claimed, 2, at=clock.now() + timedelta(microseconds=1), message="ä€😀\n"),
            log_line(claimed, 3, level="error", message="m" * 8_192),
        ]
        assert await store.append_logs(lines) == 3
        assert await store.list_logs(claimed.job_id, after=None, limit=10) == lines

    async def test_no_lines_are_no_work(self, store: Store) -> None:
        assert await store.append_logs([]) == 0
        assert await store.list_logs(new_job().id, after=None, limit=10) == []

    async def test_a_line_is_not_kept_twice(self, store: Store) -> None:
        claimed = await start(store)
        assert await store.append_logs([log_line(claimed, 1), log_line(claimed, 2)]) == 2
        again = [log_line(claimed, number, message="again") for number in (1, 2, 3)]
        assert await store.append_logs(again) == 1
        assert await store.append_logs(again) == 0
        assert await store.append_logs([log_line(claimed, 4)] * 2) == 1
        found = await store.list_logs(claimed.job_id, after=None, limit=10)
        assert [line.message for line in found] == ["line 1", "line 2", "again", "line 4"]

    async def test_lines_of_stale_attempts_are_dropped(self, store: Store) -> None:
        first = await start(store)
        await store.append_logs([log_line(first, 1)])
        await accept(store, first, FAILED, delay_ms=0)
        assert await store.append_logs([log_line(first, 2)]) == 0
        second = await claim_one(store, await open_worker(store))
        batch = [log_line(first, 3), log_line(second, 1), log_line(second, 2, attempt=3)]
        assert await store.append_logs(batch) == 1
        await accept(store, second, SUCCEEDED)
        assert await store.append_logs([log_line(second, 2)]) == 0
        unknown = log_line(second, 1, job_id=new_job().id)
        assert await store.append_logs([unknown]) == 0
        found = await store.list_logs(first.job_id, after=None, limit=10)
        assert [(line.attempt, line.sequence) for line in found] == [(1, 1), (2, 1)]

    async def test_a_cancelling_job_still_logs(self, store: Store) -> None:
        claimed = await start(store)
        await store.cancel([claimed.job_id], reason="stop", force=False, actor="me")
        assert await store.append_logs([log_line(claimed, 1)]) == 1
        await store.cancel([claimed.job_id], reason="stop", force=True, actor="me")
        assert await store.append_logs([log_line(claimed, 2)]) == 0

    async def test_lines_come_by_attempt_and_sequence_in_pages(self, store: Store) -> None:
        first = await start(store)
        await store.append_logs([log_line(first, number) for number in (5, 3, 1, 2, 4)])
        await accept(store, first, FAILED, delay_ms=0)
        second = await claim_one(store, await open_worker(store))
        await store.append_logs([log_line(second, number) for number in (2, 1, 3)])
        expected = [(1, number) for number in range(1, 6)] + [(2, 1), (2, 2), (2, 3)]
        for limit in (1, 3, 8, 100):
            found: list[tuple[int, int]] = []
            after: tuple[int, int] | None = None
            while page := await store.list_logs(first.job_id, after=after, limit=limit):
                assert len(page) <= limit
                found += [(line.attempt, line.sequence) for line in page]
                after = found[-1]
            assert found == expected

    async def test_lines_belong_to_their_job(self, store: Store) -> None:
        await submit_many(store, 2)
        first, second = await claim(store, await open_worker(store))
        await store.append_logs([log_line(first, 1), log_line(second, 1, message="other")])
        found = await store.list_logs(second.job_id, after=None, limit=10)
        assert [line.message for line in found] == ["other"]

    async def test_lines_outlive_the_job_and_end_with_a_purge(self, store: Store) -> None:
        claimed = await start(store)
        await store.append_logs([log_line(claimed, 1)])
        await accept(store, claimed, FAILED_FOR_GOOD)
        assert len(await store.list_logs(claimed.job_id, after=None, limit=10)) == 1
        await store.purge([claimed.job_id], actor="me")
        assert await store.list_logs(claimed.job_id, after=None, limit=10) == []
