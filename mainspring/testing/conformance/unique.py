"""Unique jobs: what ``submit`` says of unique keys."""

import asyncio
from datetime import timedelta
from typing import Any, Final

import msgspec
import pytest

from mainspring.domain.job import Backoff, NewJob, Priority, Receipt
from mainspring.domain.outcome import Cancelled, Lost, Outcome, Released, Snoozed
from mainspring.domain.states import JobState
from mainspring.ports.store import Store
from mainspring.testing.builders import new_job
from mainspring.testing.clock import SettableClock
from mainspring.testing.conformance.steps import (
    FAILED,
    FAILED_FOR_GOOD,
    SUCCEEDED,
    Suite,
    absent,
    accept,
    claim_one,
    counts,
    open_worker,
    start,
    submit,
    view,
)

_FINAL: Final[tuple[Outcome, ...]] = (SUCCEEDED, FAILED_FOR_GOOD, Cancelled())
_AGAIN: Final[tuple[Outcome, ...]] = (FAILED, Snoozed(1_000), Released(), Lost("gone"))


def unique(**changes: Any) -> NewJob:
    """Return a submission that holds a key while it is live."""
    return new_job(**{"unique_key": "u", **changes})


async def _second(store: Store, **changes: Any) -> Receipt:
    (receipt,) = await store.submit([unique(**changes)])
    return receipt


class UniqueSuite(Suite):
    """One job a key, and what becomes of the second."""

    async def test_the_second_meets_the_first(self, store: Store) -> None:
        (first,) = await submit(store, unique(payload=b"1"))
        assert await _second(store, payload=b"2") == Receipt(first, created=False)
        assert await counts(store) == {JobState.READY: 1}
        found = await view(store, first)
        assert (found.payload, found.unique_key, found.unique_while) == (b"1", "u", "live")

    async def test_a_refused_second_is_told_so(self, store: Store) -> None:
        (first,) = await submit(store, unique())
        receipt = await _second(store, on_duplicate="reject")
        assert receipt == Receipt(first, created=False, duplicate=True)
        assert await counts(store) == {JobState.READY: 1}
        # Alone it is not refused.
        assert (await _second(store, unique_key="v", on_duplicate="reject")).created

    async def test_keys_are_separate_by_tenant_text_and_while(self, store: Store) -> None:
        jobs = [
            unique(),
            unique(tenant="other"),
            unique(unique_key="U"),
            unique(unique_while="waiting"),
            new_job(),
            new_job(),
        ]
        await submit(store, *jobs)
        assert await counts(store) == {JobState.READY: 6}

    async def test_one_call_behaves_like_two(self, store: Store) -> None:
        jobs = [unique(), new_job(), unique(), unique(on_duplicate="reject")]
        jobs.append(unique(unique_key="v"))
        first = jobs[0].id
        assert await store.submit(jobs) == [
            Receipt(first),
            Receipt(jobs[1].id),
            Receipt(first, created=False),
            Receipt(first, created=False, duplicate=True),
            Receipt(jobs[4].id),
        ]

    async def test_the_key_is_held_until_the_end(self, store: Store) -> None:
        for outcome in _AGAIN:
            key = type(outcome).__name__
            running = await start(store, unique_key=key, max_crashes=9)
            assert (await _second(store, unique_key=key)).job_id == running.job_id
            await accept(store, running, outcome)
            again = await _second(store, unique_key=key, on_duplicate="replace")
            assert again == Receipt(running.job_id, created=False)
            await store.cancel([running.job_id], reason="", force=True, actor="me")

    @pytest.mark.parametrize("unique_while", ["live", "waiting"])
    async def test_every_end_frees_the_key(self, store: Store, unique_while: str) -> None:
        for outcome in _FINAL:
            ended = await start(store, unique_key="u", unique_while=unique_while)
            await accept(store, ended, outcome)
            found = await view(store, ended.job_id)
            assert (found.unique_key, found.unique_while) == ("u", None)

    @pytest.mark.parametrize("force", [False, True])
    async def test_a_cancel_frees_the_key_when_it_has_ended_the_job(
        self, store: Store, *, force: bool
    ) -> None:
        running = await start(store, unique_key="u")
        await store.cancel([running.job_id], reason="", force=force, actor="me")
        assert (await _second(store)).created is force
        (waiting,) = await submit(store, unique(unique_key="w", delay_ms=1_000))
        await store.cancel([waiting], reason="", force=False, actor="me")
        assert (await view(store, waiting)).unique_key == "w"
        assert (await _second(store, unique_key="w")).created

    async def test_while_waiting_the_key_is_free_from_the_first_attempt_on(
        self, store: Store
    ) -> None:
        waiting = {"unique_while": "waiting"}
        (first,) = await submit(store, unique(**waiting, delay_ms=1))
        assert (await _second(store, **waiting)).job_id == first
        await store.run_now([first], actor="me")
        assert (await _second(store, **waiting)).job_id == first
        running = await claim_one(store, await open_worker(store))
        assert running.job_id == first
        (second,) = await submit(store, unique(**waiting, delay_ms=60_000))
        # The first waits again, but it was begun: it neither meets the second nor is met.
        await accept(store, running, FAILED)
        assert (await _second(store, **waiting)).job_id == second
        await store.run_now([first], actor="me")
        assert (await claim_one(store, await open_worker(store))).job_id == first

    async def test_a_replayed_job_comes_back_without_its_key(self, store: Store) -> None:
        dead = await start(store, unique_key="u")
        await accept(store, dead, FAILED_FOR_GOOD)
        (second,) = await submit(store, unique())
        assert await store.replay([dead.job_id], payload=None, actor="me") == [dead.job_id]
        found = await view(store, dead.job_id)
        assert found.state is JobState.READY
        assert absent(found.unique_key, found.unique_while)
        assert (await view(store, second)).unique_key == "u"

    async def test_a_known_id_is_known_whatever_its_key(self, store: Store) -> None:
        job = unique(on_duplicate="reject")
        await submit(store, job)
        assert await store.submit([job]) == [Receipt(job.id, created=False)]
        assert await store.submit([job, job], repeated=True) == [
            Receipt(job.id, created=False),
            Receipt(job.id, created=False),
        ]
        other = msgspec.structs.replace(job, unique_key="v", on_duplicate="existing")
        assert await store.submit([other]) == [Receipt(job.id, created=False)]

    async def test_a_repetition_after_the_end_is_known_although_another_holds_the_key(
        self, store: Store
    ) -> None:
        job = unique(on_duplicate="reject")
        await submit(store, job)
        running = await claim_one(store, await open_worker(store))
        await accept(store, running, SUCCEEDED)
        assert await store.submit([job], repeated=True) == [Receipt(job.id, created=False)]
        (second,) = await submit(store, unique())
        assert await store.submit([job], repeated=True) == [Receipt(job.id, created=False)]
        assert (await view(store, second)).state is JobState.READY

    async def test_twenty_at_once_make_one_job(self, store: Store) -> None:
        jobs = [unique() for _ in range(20)]
        answers = await asyncio.gather(*(store.submit([job]) for job in jobs))
        assert len({receipts[0].job_id for receipts in answers}) == 1
        assert sum(receipts[0].created for receipts in answers) == 1
        assert await counts(store) == {JobState.READY: 1}

    async def test_crossing_batches_do_not_block_each_other(self, store: Store) -> None:
        def batch(order: int, on_duplicate: str) -> list[NewJob]:
            names = [f"u{number}" for number in range(30)][::order]
            return [unique(unique_key=name, on_duplicate=on_duplicate) for name in names]

        answers = await asyncio.gather(
            *(
                store.submit(batch(order, on_duplicate))
                for order in (1, -1)
                for on_duplicate in ("existing", "replace", "reject")
            )
        )
        assert sum(receipt.created for receipts in answers for receipt in receipts) == 30
        assert await counts(store) == {JobState.READY: 30}


class ReplaceSuite(Suite):
    """``on_duplicate="replace"``."""

    async def test_a_waiting_job_takes_over_everything_but_its_names(
        self, store: Store, clock: SettableClock
    ) -> None:
        old = unique(payload=b"1", payload_ref="blob/1", delay_ms=60_000, submission_key="k")
        await submit(store, old)
        before = await view(store, old.id)
        clock.advance(1)
        new = unique(
            on_duplicate="replace",
            kind="other.kind",
            payload=b"2",
            payload_ref="blob/2",
            queue="fast",
            priority=Priority.CRITICAL,
            delay_ms=5_000,
            max_attempts=7,
            max_crashes=2,
            backoff=Backoff(initial_ms=9),
            timeout_ms=77,
            on_exhausted="other.failed",
            effect_key="e",
        )
        (receipt,) = await store.submit([new])
        assert receipt == Receipt(old.id, created=False, replaced=True, unused_ref="blob/1")
        found = await view(store, old.id)
        kept = {"id", "submission_key", "unique_key", "unique_while", "tenant"}
        common = set(new.__struct_fields__) & set(found.__struct_fields__) - {"due_at"}
        assert len(common) >= 15
        for name in common:
            given = old if name in kept else new
            assert getattr(found, name) == getattr(given, name), name
        assert found.created_at == before.created_at
        assert found.due_at == clock.now() + timedelta(seconds=5)
        assert (found.state, found.attempt) == (JobState.SCHEDULED, 0)

    async def test_a_replaced_job_may_fall_due_at_once_or_later(
        self, store: Store, clock: SettableClock
    ) -> None:
        (first,) = await submit(store, unique(delay_ms=60_000))
        assert (await _second(store, on_duplicate="replace")).replaced
        assert (await view(store, first)).state is JobState.READY
        at = clock.now() + timedelta(days=1)
        assert (await _second(store, on_duplicate="replace", due_at=at)).replaced
        found = await view(store, first)
        assert (found.state, found.due_at) == (JobState.SCHEDULED, at)

    async def test_what_was_begun_stays_as_it_is(self, store: Store) -> None:
        running = await start(store, unique_key="u", payload=b"1")
        for outcome in (None, FAILED):
            if outcome is not None:
                await accept(store, running, outcome)
            receipt = await _second(store, on_duplicate="replace", payload=b"2")
            assert receipt == Receipt(running.job_id, created=False)
        assert (await view(store, running.job_id)).payload == b"1"

    async def test_of_several_in_one_call_the_last_one_counts(self, store: Store) -> None:
        jobs = [
            unique(payload=b"%d" % number, payload_ref=f"blob/{number}", on_duplicate=word)
            for number, word in enumerate(["existing", "replace", "reject", "replace", "existing"])
        ]
        first = jobs[0].id
        assert await store.submit(jobs) == [
            Receipt(first),
            Receipt(first, created=False, replaced=True, unused_ref="blob/0"),
            Receipt(first, created=False, duplicate=True),
            Receipt(first, created=False, replaced=True, unused_ref="blob/1"),
            Receipt(first, created=False),
        ]
        found = await view(store, first)
        assert (found.payload, found.payload_ref) == (b"3", "blob/3")

    async def test_a_replaced_job_is_handed_out_as_it_is_now(self, store: Store) -> None:
        await submit(store, unique(payload=b"1", queue="slow", delay_ms=60_000))
        await _second(store, payload=b"2", on_duplicate="replace")
        claimed = await claim_one(store, await open_worker(store))
        assert (claimed.payload, claimed.queue) == (b"2", "default")


class UniqueAndSubmissionKeySuite(Suite):
    """Both keys on one submission."""

    async def test_the_submission_key_names_the_job_that_was_met(self, store: Store) -> None:
        (first,) = await submit(store, unique())
        for word in ("existing", "replace"):
            job = unique(submission_key=word, body_hash=b"h" * 32, on_duplicate=word)
            assert (await store.submit([job]))[0].job_id == first
        await store.cancel([first], reason="", force=False, actor="me")
        # The key is free now, but these were answered before.
        for word in ("existing", "replace"):
            job = unique(submission_key=word, body_hash=b"h" * 32, on_duplicate=word)
            assert await store.submit([job]) == [Receipt(first, created=False)]
        other = unique(submission_key="existing", body_hash=b"x" * 32)
        assert (await store.submit([other]))[0].conflict

    async def test_a_refused_submission_leaves_its_key_free(self, store: Store) -> None:
        (first,) = await submit(store, unique())
        job = unique(submission_key="k", body_hash=b"h" * 32, on_duplicate="reject")
        assert (await store.submit([job]))[0].duplicate
        await store.cancel([first], reason="", force=False, actor="me")
        again = unique(submission_key="k", body_hash=b"x" * 32, on_duplicate="reject")
        assert await store.submit([again]) == [Receipt(again.id)]

    async def test_in_one_call(self, store: Store) -> None:
        keys = {"submission_key": "k", "body_hash": b"h" * 32}
        jobs = [unique(), unique(**keys), unique(**keys, unique_key="v")]
        first = jobs[0].id
        met = Receipt(first, created=False)
        assert await store.submit(jobs) == [Receipt(first), met, met]
        assert await counts(store) == {JobState.READY: 1}
