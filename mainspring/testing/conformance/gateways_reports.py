"""What every ``WorkerGateway`` takes: outcomes, progress, lines, files."""

from collections.abc import Sequence
from datetime import timedelta

import msgspec
import pytest

from mainspring.domain.errors import LeaseLost
from mainspring.domain.limits import INLINE_BYTES_MAX
from mainspring.domain.outcome import (
    Cancelled,
    ErrorInfo,
    Failed,
    Lost,
    Outcome,
    Released,
    Report,
    Snoozed,
    Succeeded,
    TimedOut,
)
from mainspring.domain.states import AttemptState, JobState
from mainspring.ports.blobs import BlobStore
from mainspring.ports.gateway import WorkerGateway
from mainspring.ports.store import Store
from mainspring.testing.builders import (
    claim_ask,
    log_line,
    new_job,
    progress,
)
from mainspring.testing.clock import SettableClock
from mainspring.testing.conformance.gateways import (
    GatewaySuite,
    MakeGateway,
    claim_new,
    hand_in,
    open_session,
    told,
)
from mainspring.testing.conformance.steps import (
    BOOM,
    FAILED,
    FAILED_FOR_GOOD,
    SUCCEEDED,
    counts,
    state_of,
    submit_many,
    view,
)

_ENDS: Sequence[tuple[Outcome, JobState, AttemptState]] = (
    (Succeeded(b'{"n":1}'), JobState.SUCCEEDED, AttemptState.SUCCEEDED),
    (FAILED, JobState.RETRYING, AttemptState.FAILED),
    (FAILED_FOR_GOOD, JobState.DEAD, AttemptState.FAILED),
    (Failed(BOOM, retry_after_ms=5_000), JobState.RETRYING, AttemptState.FAILED),
    (Snoozed(60_000, "later"), JobState.SCHEDULED, AttemptState.RELEASED),
    (TimedOut(5), JobState.RETRYING, AttemptState.TIMED_OUT),
    (Cancelled("stop"), JobState.CANCELLED, AttemptState.CANCELLED),
    (Released(), JobState.READY, AttemptState.RELEASED),
    # Its process died: others may have it at once, with the dice at rest.
    (Lost("killed"), JobState.READY, AttemptState.LOST),
)


class GatewayReportSuite(GatewaySuite):
    """Outcomes are handed in."""

    async def test_every_outcome_means_the_same(self, gateway: WorkerGateway, store: Store) -> None:
        for outcome, state, closed in _ENDS:
            job = await claim_new(gateway, store)
            assert await hand_in(gateway, job, outcome)
            found = await view(store, job.job_id)
            assert found.state is state, outcome
            [attempt] = await store.list_attempts(job.job_id)
            assert attempt.state is closed, outcome
            if isinstance(outcome, Succeeded):
                assert found.result == outcome.result
            if isinstance(outcome, Failed):
                assert msgspec.json.decode(attempt.error or b"", type=ErrorInfo) == BOOM
            await store.cancel([job.job_id], reason="", force=True, actor="test")

    async def test_a_wait_that_was_asked_for_is_exact(
        self, gateway: WorkerGateway, store: Store, clock: SettableClock
    ) -> None:
        for outcome in (Failed(BOOM, retry_after_ms=5_000), Snoozed(5_000)):
            job = await claim_new(gateway, store)
            await hand_in(gateway, job, outcome)
            found = await view(store, job.job_id)
            assert found.due_at == clock.now() + timedelta(seconds=5)

    async def test_a_repetition_says_true_again(self, gateway: WorkerGateway, store: Store) -> None:
        for outcome, _, _ in _ENDS:
            job = await claim_new(gateway, store)
            assert await hand_in(gateway, job, outcome)
            assert await hand_in(gateway, job, outcome)
            assert len(await store.list_attempts(job.job_id)) == 1
            await store.cancel([job.job_id], reason="", force=True, actor="test")

    async def test_another_report_after_the_first_is_stale(
        self, gateway: WorkerGateway, store: Store
    ) -> None:
        job = await claim_new(gateway, store)
        assert await hand_in(gateway, job, SUCCEEDED)
        assert not await hand_in(gateway, job, FAILED_FOR_GOOD)
        assert await state_of(store, job.job_id) is JobState.SUCCEEDED

    async def test_answers_come_in_the_order_of_the_reports(
        self, gateway: WorkerGateway, store: Store
    ) -> None:
        await submit_many(store, 4)
        worker = await open_session(gateway)
        claimed = await gateway.claim(claim_ask(worker))
        await store.cancel([claimed[1].job_id], reason="", force=True, actor="test")
        unknown = Report(new_job().id, 1, SUCCEEDED)
        reports = [told(job, SUCCEEDED) for job in claimed]
        answers = await gateway.report([reports[0], unknown, *reports[1:]])
        assert answers == [True, False, False, True, True]

    async def test_an_attempt_of_another_gateway_cannot_be_reported(
        self, make_gateway: MakeGateway, store: Store
    ) -> None:
        mine, other = make_gateway(), make_gateway()
        job = await claim_new(mine, store)
        assert not await hand_in(other, job, SUCCEEDED)
        assert await state_of(store, job.job_id) is JobState.RUNNING
        assert await hand_in(mine, job, SUCCEEDED)

    async def test_large_results_lie_in_the_object_store(
        self, gateway: WorkerGateway, store: Store, blobs: BlobStore
    ) -> None:
        result = b"[" + b"1" * INLINE_BYTES_MAX + b"]"
        job = await claim_new(gateway, store)
        assert await hand_in(gateway, job, Succeeded(result))
        found = await view(store, job.job_id)
        assert found.result is None
        assert found.result_ref is not None
        assert await blobs.get(found.result_ref) == result

    async def test_many_large_results_at_once(self, gateway: WorkerGateway, store: Store) -> None:
        await submit_many(store, 5)
        claimed = await gateway.claim(claim_ask(await open_session(gateway)))
        result = b'"' + b"x" * 2_000_000 + b'"'
        assert all(await gateway.report([told(job, Succeeded(result)) for job in claimed]))
        assert await counts(store) == {JobState.SUCCEEDED: 5}

    async def test_nobody_reports_nothing(self, gateway: WorkerGateway) -> None:
        assert await gateway.report([]) == []

    async def test_strange_text_stops_no_batch(self, gateway: WorkerGateway, store: Store) -> None:
        strange = "a\x00b\ud800c"
        error = ErrorInfo(strange, strange, strange, strange)
        outcomes: tuple[Outcome, ...] = (
            Succeeded(b'"a\\u0000b"'),
            Failed(error),
            Failed(error, permanent=True),
            Snoozed(10**18, strange),
            Released(strange),
            Cancelled(strange),
        )
        await submit_many(store, len(outcomes))
        claimed = await gateway.claim(claim_ask(await open_session(gateway)))
        given = [told(job, outcome) for job, outcome in zip(claimed, outcomes, strict=True)]
        assert await gateway.report(given) == [True] * len(outcomes)

    async def test_a_dead_job_is_followed_up_once(
        self, gateway: WorkerGateway, store: Store
    ) -> None:
        job = await claim_new(gateway, store, on_exhausted="bury")
        assert await hand_in(gateway, job, FAILED_FOR_GOOD)
        assert await hand_in(gateway, job, FAILED_FOR_GOOD)
        assert await counts(store) == {JobState.DEAD: 1, JobState.READY: 1}


class GatewayNewsSuite(GatewaySuite):
    """Progress, lines and files of attempts that run; what is told of them."""

    async def test_progress_is_seen(self, gateway: WorkerGateway, store: Store) -> None:
        worker = await open_session(gateway)
        job = await claim_new(gateway, store, worker)
        held = [(job.job_id, job.attempt)]
        news = await gateway.pulse(worker, held, [progress(job, 1.5, total=4.0, note="half")])
        assert (news.cancelling, news.lost) == ((), ())
        found = await view(store, job.job_id)
        assert (found.progress_done, found.progress_total) == (1.5, 4.0)
        assert found.progress_note == "half"

    async def test_cancelling_and_lost_are_told_apart(
        self, gateway: WorkerGateway, store: Store
    ) -> None:
        await submit_many(store, 3)
        worker = await open_session(gateway)
        running, cancelling, forced = await gateway.claim(claim_ask(worker))
        await store.cancel([cancelling.job_id], reason="stop", force=False, actor="me")
        await store.cancel([forced.job_id], reason="stop", force=True, actor="me")
        held = [(job.job_id, job.attempt) for job in (running, cancelling, forced)]
        news = await gateway.pulse(worker, held, [])
        assert (news.cancelling, news.lost) == ((cancelling.job_id,), (forced.job_id,))
        assert not await hand_in(gateway, forced, SUCCEEDED)
        assert await hand_in(gateway, cancelling, Cancelled("stop"))

    async def test_lines_are_kept_once_and_in_order(
        self, gateway: WorkerGateway, store: Store
    ) -> None:
        job = await claim_new(gateway, store)
        lines = [
            log_line(job, 1),
            log_line(job, 2, level="warning", fields='{"n":1}'),
            log_line(job, 3, message="a\x00b\ud800c", level="\x00"),
        ]
        await gateway.append_logs(lines)
        await gateway.append_logs(lines[1:])
        kept = await store.list_logs(job.job_id, after=None, limit=9)
        assert [line.sequence for line in kept] == [1, 2, 3]
        assert kept[:2] == lines[:2]

    async def test_lines_of_an_attempt_that_is_over_change_nothing(
        self, gateway: WorkerGateway, store: Store
    ) -> None:
        job = await claim_new(gateway, store)
        await hand_in(gateway, job, SUCCEEDED)
        await gateway.append_logs([log_line(job, 1)])
        assert await store.list_logs(job.job_id, after=None, limit=9) == []

    async def test_a_file_is_kept_for_an_attempt_that_is_held(
        self, gateway: WorkerGateway, store: Store, blobs: BlobStore
    ) -> None:
        job = await claim_new(gateway, store)
        body = bytes(range(256)) * 10_000
        reference = await gateway.save_file(job.job_id, job.attempt, "report.bin", body)
        assert await blobs.get(reference) == body
        assert await gateway.save_file(job.job_id, job.attempt, "empty", b"")
        with pytest.raises(LeaseLost):
            await gateway.save_file(new_job().id, 1, "report.bin", b"1")
