import asyncio
from datetime import timedelta
from pathlib import Path

import msgspec
import pytest

from mainspring.dispatcher.gateway import LocalGateway
from mainspring.dispatcher.judgement import fixed_dice
from mainspring.domain.errors import ConnectionFailed, LeaseLost, OutcomeUnknown
from mainspring.domain.ids import show_job
from mainspring.domain.job import Backoff, HandlerInfo, JobFilter, JobView
from mainspring.domain.limits import DELAY_SECONDS_MAX, ERROR_BYTES_MAX, INLINE_BYTES_MAX
from mainspring.domain.outcome import (
    Cancelled,
    ErrorInfo,
    Failed,
    Outcome,
    Released,
    Report,
    Snoozed,
    Succeeded,
    TimedOut,
)
from mainspring.domain.states import AttemptState, JobState
from mainspring.integrations.local_blobs import LocalBlobs
from mainspring.ports.clock import monotonic
from mainspring.ports.entropy import new_job_id
from mainspring.ports.store import Store
from mainspring.testing.builders import claim_ask, new_job
from mainspring.testing.clock import SettableClock
from mainspring.testing.conformance.steps import BOOM, counts, state_of, view
from tests.dispatcher.doors import (
    Faulty,
    MakeGateway,
    claim_new,
    open_worker,
    report,
    report_of,
)

_OUTCOMES: list[tuple[Outcome, JobState, AttemptState, str | None, int]] = [
    (Succeeded(b"[1]"), JobState.SUCCEEDED, AttemptState.SUCCEEDED, None, 1),
    (Failed(BOOM), JobState.RETRYING, AttemptState.FAILED, "failed", 1),
    (Failed(BOOM, permanent=True), JobState.DEAD, AttemptState.FAILED, "failed_permanently", 1),
    (Failed(BOOM, retry_after_ms=5), JobState.RETRYING, AttemptState.FAILED, "retry_asked", 1),
    (TimedOut(300_000), JobState.RETRYING, AttemptState.TIMED_OUT, "timed_out", 1),
    (Snoozed(5_000, "busy"), JobState.SCHEDULED, AttemptState.RELEASED, "busy", 0),
    (Released(), JobState.READY, AttemptState.RELEASED, "worker_stopped", 0),
    (Cancelled(), JobState.CANCELLED, AttemptState.CANCELLED, "cancelled", 1),
]


@pytest.mark.parametrize(
    ("outcome", "becomes", "closed_as", "reason", "tries"),
    _OUTCOMES,
    ids=[f"outcome{number}" for number in range(len(_OUTCOMES))],
)
async def test_every_outcome_is_settled(
    gateway: LocalGateway,
    store: Store,
    outcome: Outcome,
    becomes: JobState,
    closed_as: AttemptState,
    reason: str | None,
    tries: int,
) -> None:
    claimed = await claim_new(gateway, store)
    assert await report(gateway, claimed, outcome)
    found = await view(store, claimed.job_id)
    assert (found.state, found.reason, found.tries, found.crashes) == (becomes, reason, tries, 0)
    attempts = await store.list_attempts(claimed.job_id)
    assert [item.state for item in attempts] == [closed_as]


async def test_delays_count_from_the_clock_of_the_store(
    gateway: LocalGateway, store: Store, clock: SettableClock
) -> None:
    for outcome, delay_ms in (
        (Failed(BOOM), 7),
        (Failed(BOOM, retry_after_ms=90_000), 90_000),
        (Snoozed(5_000), 5_000),
        (Snoozed(10**18), DELAY_SECONDS_MAX * 1_000),
        (Failed(BOOM, retry_after_ms=10**18), DELAY_SECONDS_MAX * 1_000),
        (Snoozed(-5), 0),
    ):
        backoff = Backoff(initial_ms=7, jitter=0.0)
        claimed = await claim_new(gateway, store, backoff=backoff)
        assert await report(gateway, claimed, outcome)
        found = await view(store, claimed.job_id)
        assert found.due_at == clock.now() + timedelta(milliseconds=delay_ms)
        await store.cancel([claimed.job_id], reason="", force=True, actor="test")


async def test_reports_are_answered_in_their_order(gateway: LocalGateway, store: Store) -> None:
    worker = await open_worker(gateway)
    jobs = [new_job() for _ in range(4)]
    await store.submit(jobs)
    first, second, third, fourth = await gateway.claim(claim_ask(worker))
    await store.cancel([second.job_id], reason="", force=True, actor="test")
    stale = msgspec.structs.replace(third, attempt=7)
    unknown = msgspec.structs.replace(third, job_id=new_job_id())
    given = [report_of(job, Succeeded()) for job in (first, second, stale, unknown, fourth)]
    assert await gateway.report(given) == [True, False, False, False, True]
    assert await state_of(store, third.job_id) is JobState.RUNNING
    assert await state_of(store, second.job_id) is JobState.CANCELLED
    assert await gateway.report([]) == []


@pytest.mark.parametrize("place", ["before", "after"])
async def test_a_report_whose_answer_was_lost_is_repeated(
    gateway: LocalGateway, store: Store, faulty: Faulty, place: str
) -> None:
    claimed = await claim_new(gateway, store)
    getattr(faulty, place).append(OutcomeUnknown())
    with pytest.raises(OutcomeUnknown):
        await report(gateway, claimed, Succeeded(b"1"))
    assert await report(gateway, claimed, Succeeded(b"1"))
    assert (await view(store, claimed.job_id)).result == b"1"
    assert len(await store.list_attempts(claimed.job_id)) == 1


async def test_a_report_may_be_repeated_after_its_answer(
    gateway: LocalGateway, store: Store
) -> None:
    for outcome in (Succeeded(b"1"), Failed(BOOM), Failed(BOOM, permanent=True), Snoozed(90_000)):
        claimed = await claim_new(gateway, store)
        assert await report(gateway, claimed, outcome)
        before = await view(store, claimed.job_id)
        assert await report(gateway, claimed, outcome)
        assert await view(store, claimed.job_id) == before
    # Another outcome of the same attempt is no repetition.
    claimed = await claim_new(gateway, store)
    assert await report(gateway, claimed, Succeeded())
    assert not await report(gateway, claimed, Failed(BOOM))


async def test_a_report_that_is_doubled_in_one_call(gateway: LocalGateway, store: Store) -> None:
    claimed = await claim_new(gateway, store)
    given = report_of(claimed, Succeeded())
    assert await gateway.report([given, given]) == [True, True]
    assert await counts(store) == {JobState.SUCCEEDED: 1}


async def test_what_is_remembered_is_bounded(
    gateway: LocalGateway, store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("mainspring.dispatcher.gateway._REMEMBERED_MAX", 5)
    worker = await open_worker(gateway)
    for _ in range(3):
        await store.submit([new_job() for _ in range(10)])
        claimed = await gateway.claim(claim_ask(worker))
        assert all(await gateway.report([report_of(job, Succeeded()) for job in claimed]))
    assert gateway._claimed == {}
    assert len(gateway._settled) == 5


async def test_a_repetition_may_be_forgotten_while_it_is_under_way(
    gateway: LocalGateway, store: Store, blobs: LocalBlobs, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Large results take their time in the object store; others are settled meanwhile."""
    monkeypatch.setattr("mainspring.dispatcher.gateway._REMEMBERED_MAX", 1)
    worker = await open_worker(gateway)
    slow = await claim_new(gateway, store, worker)
    large = Succeeded(b'"' + b"x" * INLINE_BYTES_MAX + b'"')
    assert await report(gateway, slow, large)
    quick = await claim_new(gateway, store, worker)
    put = blobs.put

    async def slowly(key: str, body: bytes) -> str:
        assert await report(gateway, quick, Succeeded())
        return await put(key, body)

    monkeypatch.setattr(blobs, "put", slowly)
    assert await report(gateway, slow, large)
    assert (await view(store, slow.job_id)).state is JobState.SUCCEEDED


async def test_lost_attempts_are_no_longer_tracked(gateway: LocalGateway, store: Store) -> None:
    worker = await open_worker(gateway)
    claimed = await claim_new(gateway, store, worker)
    await store.cancel([claimed.job_id], reason="", force=True, actor="test")
    held = [(claimed.job_id, claimed.attempt)]
    assert (await gateway.pulse(worker, held, [])).lost == (claimed.job_id,)
    assert gateway._claimed == {}
    assert not await report(gateway, claimed, Succeeded())


async def test_an_unreachable_store_changes_nothing_and_may_be_asked_again(
    gateway: LocalGateway, store: Store, faulty: Faulty
) -> None:
    claimed = await claim_new(gateway, store)
    faulty.before.append(ConnectionFailed())
    with pytest.raises(ConnectionFailed):
        await report(gateway, claimed, Succeeded())
    assert await state_of(store, claimed.job_id) is JobState.RUNNING
    assert await report(gateway, claimed, Succeeded())


async def follow_ups(store: Store, kind: str) -> list[JobView]:
    page = await store.list_jobs(JobFilter(kinds=frozenset({kind})), limit=99, before=None)
    return list(page.items)


async def test_a_dead_job_is_followed_up_once_with_declared_defaults(
    gateway: LocalGateway, store: Store, faulty: Faulty
) -> None:
    declared = HandlerInfo(
        kind="mail.lost",
        queue="care",
        priority=1,
        max_attempts=2,
        max_crashes=1,
        backoff=Backoff(initial_ms=9),
        timeout_ms=8_000,
        on_exhausted="last.resort",
    )
    worker = await open_worker(gateway, handlers=[declared])
    claimed = await claim_new(
        gateway, store, worker, on_exhausted="mail.lost", payload=b'{"n":1}', queue="default"
    )
    listening = store.wakeups.subscribe({"queue:care", "done"})
    faulty.after.append(OutcomeUnknown())
    outcome = Failed(BOOM, permanent=True)
    with pytest.raises(OutcomeUnknown):
        await report(gateway, claimed, outcome)
    assert await report(gateway, claimed, outcome)
    assert await report(gateway, claimed, outcome)
    [found] = await follow_ups(store, "mail.lost")
    assert (found.queue, found.priority, found.tenant) == ("care", 1, "default")
    assert (found.max_attempts, found.max_crashes, found.timeout_ms) == (2, 1, 8_000)
    # No follow-up of a follow-up: two kinds that name each other would go on for ever.
    assert (found.backoff, found.on_exhausted) == (Backoff(initial_ms=9), None)
    assert found.effect_key == f"{show_job(claimed.job_id)}:1:exhausted"
    assert msgspec.json.decode(found.payload) == {
        "failure": {
            "job_id": show_job(claimed.job_id),
            "kind": "test.work",
            "reason": "failed_permanently",
            "error_type": "ValueError",
            "error_message": "boom",
            "attempts": 1,
            "payload": {"n": 1},
        }
    }
    listening.close()


async def test_a_follow_up_wakes_its_own_queue(gateway: LocalGateway, store: Store) -> None:
    worker = await open_worker(gateway, handlers=[HandlerInfo(kind="mail.lost", queue="care")])
    claimed = await claim_new(gateway, store, worker, on_exhausted="mail.lost")
    listening = store.wakeups.subscribe({"queue:care", "done"})
    await report(gateway, claimed, Failed(BOOM, permanent=True))
    assert await listening.wait(30) == {"queue:care", "done"}
    listening.close()


async def test_a_follow_up_of_an_undeclared_kind_stays_in_the_queue(
    gateway: LocalGateway, store: Store
) -> None:
    worker = await open_worker(gateway)
    claimed = await claim_new(gateway, store, worker, on_exhausted="nobody", max_attempts=1)
    await report(gateway, claimed, TimedOut(5))
    [found] = await follow_ups(store, "nobody")
    assert (found.queue, found.max_attempts, found.on_exhausted) == ("default", 5, None)
    assert b"attempts_exhausted" in found.payload


async def test_only_a_death_is_followed_up(gateway: LocalGateway, store: Store) -> None:
    for outcome in (Succeeded(), Failed(BOOM), Released(), Cancelled()):
        claimed = await claim_new(gateway, store, on_exhausted="after")
        await report(gateway, claimed, outcome)
        await store.cancel([claimed.job_id], reason="", force=True, actor="test")
    assert await follow_ups(store, "after") == []


async def test_large_results_lie_in_the_object_store(
    gateway: LocalGateway, store: Store, blobs: LocalBlobs
) -> None:
    small = b"[" + b"1" * (INLINE_BYTES_MAX - 2) + b"]"
    for result, is_large in ((small, False), (small + b" ", True)):
        claimed = await claim_new(gateway, store)
        await report(gateway, claimed, Succeeded(result))
        found = await view(store, claimed.job_id)
        assert (found.result is None) is (found.result_ref is not None) is is_large
        kept = found.result if found.result_ref is None else await blobs.get(found.result_ref)
        assert kept == result


async def test_payloads_are_fetched_from_where_they_live(
    gateway: LocalGateway, store: Store, blobs: LocalBlobs
) -> None:
    inline = await claim_new(gateway, store, payload=b'{"a":1}')
    assert await gateway.payload(inline) == b'{"a":1}'
    reference = await blobs.put("payload/x", b'{"a":2}')
    large = await claim_new(gateway, store, payload_ref=reference)
    assert await gateway.payload(large) == b'{"a":2}'


@pytest.mark.parametrize(
    ("message", "trace"),
    [
        ("x" * 100_000, "y" * 1_000_000),
        ("\u20ac" * 100_000, "\U0001f600" * 100_000),
        ("\ud800" * 9_000, "\udcff" * 50_000),
        ("\x00" * 10, "\x00" * 10),
    ],
    ids=["ascii", "wide", "surrogates", "nul"],
)
async def test_errors_are_cut_to_what_is_kept(
    gateway: LocalGateway, store: Store, message: str, trace: str
) -> None:
    claimed = await claim_new(gateway, store)
    error = ErrorInfo("T" * 10_000, f"first {message} last", f"top {trace} end", "w" * 10_000)
    assert await report(gateway, claimed, Failed(error, permanent=True))
    found = await view(store, claimed.job_id)
    assert found.error is not None
    kept = msgspec.json.decode(found.error, type=ErrorInfo)
    assert len((kept.message + kept.traceback).encode()) <= ERROR_BYTES_MAX
    assert len(kept.type) <= 256
    assert len(kept.where) <= 256
    assert kept.message.startswith("first ")
    assert kept.message.endswith(" last")
    assert kept.traceback.startswith("top ")
    assert kept.traceback.endswith(" end")


async def test_an_error_within_the_limit_is_kept_whole(gateway: LocalGateway, store: Store) -> None:
    error = ErrorInfo("ValueError", "m" * 4_000, "t" * 12_000, "app.py:7")
    claimed = await claim_new(gateway, store)
    await report(gateway, claimed, Failed(error))
    found = await view(store, claimed.job_id)
    assert msgspec.json.decode(found.error or b"", type=ErrorInfo) == error


@pytest.mark.parametrize("reason", ["\x00", "\ud800", "r" * 100_000])
async def test_a_reason_that_no_store_can_take_is_made_one(
    gateway: LocalGateway, store: Store, reason: str
) -> None:
    claimed = await claim_new(gateway, store)
    assert await report(gateway, claimed, Snoozed(5, reason))
    found = await view(store, claimed.job_id)
    assert found.reason
    assert "\x00" not in found.reason
    assert len(found.reason.encode()) <= 1_024


async def test_who_waits_is_told_what_became_of_a_job(gateway: LocalGateway, store: Store) -> None:
    listening = store.wakeups.subscribe({"done", "queue:default"})
    for outcome, topic in ((Succeeded(), "done"), (Failed(BOOM), "queue:default")):
        claimed = await claim_new(gateway, store)
        await report(gateway, claimed, outcome)
        assert await listening.wait(30) == {topic}
    listening.close()


async def test_two_gateways_share_a_store_without_overlap(
    make_gateway: MakeGateway, store: Store
) -> None:
    jobs = [new_job() for _ in range(600)]
    await store.submit(jobs)
    done: list[bytes] = []

    async def work(gateway: LocalGateway) -> None:
        worker = await open_worker(gateway)
        while claimed := await gateway.claim(claim_ask(worker, limit=40)):
            given = [report_of(job, Succeeded()) for job in claimed]
            assert all(await gateway.report(given))
            done.extend(job.job_id for job in claimed)

    await asyncio.gather(*(work(make_gateway()) for _ in range(3)))
    assert sorted(done) == sorted(job.id for job in jobs)
    assert await counts(store) == {JobState.SUCCEEDED: 600}


async def test_an_attempt_of_another_gateway_cannot_be_reported(
    make_gateway: MakeGateway, store: Store
) -> None:
    mine, other = make_gateway(), make_gateway()
    claimed = await claim_new(mine, store)
    assert not await report(other, claimed, Succeeded())
    assert await state_of(store, claimed.job_id) is JobState.RUNNING


async def test_an_absent_object_store_holds_up_only_what_needs_it(
    store: Store, tmp_path: Path
) -> None:
    """The small result is settled; the repetition, with the store back, settles the large one."""

    class Away(LocalBlobs):
        is_away = True

        async def put(self, key: str, body: bytes) -> str:
            if self.is_away:
                raise ConnectionFailed("the object store is away")
            return await super().put(key, body)

    blobs = Away(str(tmp_path / "blobs"))
    gateway = LocalGateway(
        store, blobs=blobs, dice=fixed_dice(lambda: 0.0, new_job_id), monotonic=monotonic
    )
    worker = await open_worker(gateway)
    small = await claim_new(gateway, store, worker)
    large = await claim_new(gateway, store, worker)
    reports = [
        Report(large.job_id, large.attempt, Succeeded(b'"' + b"x" * 20_000 + b'"')),
        Report(small.job_id, small.attempt, Succeeded(b"1")),
    ]
    with pytest.raises(ConnectionFailed):
        await gateway.report(reports)
    states = await store.get_states([small.job_id, large.job_id])
    assert states == {small.job_id: JobState.SUCCEEDED, large.job_id: JobState.RUNNING}
    blobs.is_away = False
    assert await gateway.report(reports) == [True, True]
    assert (await store.get_states([large.job_id]))[large.job_id] is JobState.SUCCEEDED


async def test_a_file_is_kept_only_for_an_attempt_that_is_held(
    gateway: LocalGateway, store: Store, blobs: LocalBlobs
) -> None:
    with pytest.raises(LeaseLost, match="is not held here"):
        await gateway.save_file(new_job_id(), 1, "report.csv", b"1")
