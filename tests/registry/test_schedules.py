"""The desk for schedules, on a real store: what comes in, what is refused, what is settled."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from mainspring.agenda.spec import read_spec
from mainspring.domain.errors import (
    Conflict,
    FiresTooOften,
    InvalidInput,
    InvalidPayload,
    InvalidSchedule,
    LimitReached,
    MainspringError,
    NaiveDatetime,
    NeverFires,
    NotFound,
    OutcomeUnknown,
    ScheduleExists,
    UnknownKind,
    UnknownOption,
    UnknownZone,
    WouldOverlap,
)
from mainspring.domain.schedule import Cause, Outcome, ScheduleState
from mainspring.ports.entropy import new_job_id
from mainspring.ports.schedules import ScheduleFilter
from mainspring.ports.scheduling import BackfillAsk, ScheduleGateway
from mainspring.registry.desk import FrontDesk
from mainspring.testing.clock import SettableClock
from tests.registry.drafts import ADA, calendar, draft, made


async def test_it_is_made_with_the_options_of_its_handler(schedules: ScheduleGateway) -> None:
    view = await made(schedules, payload=b'{"day": 3}', policies={"overlap": "Forbid"})
    spec = read_spec(view.spec)
    assert (spec.work.queue, spec.work.max_attempts) == ("reports", 7)
    assert spec.work.payload == '{"day":3}'
    assert spec.policies.overlap == "skip"
    assert (view.state, view.version, view.updated_by) == (ScheduleState.ACTIVE, 1, ADA)
    assert await schedules.get("nightly") == view
    assert await schedules.get(view.schedule_id) == view


async def test_hashes_are_resolved_once_by_tenant_and_name(schedules: ScheduleGateway) -> None:
    first = read_spec((await made(schedules, when="H H * * *")).spec).times.when
    other = read_spec((await made(schedules, name="other", when="H H * * *")).spec).times.when
    assert "H" not in first[0]
    assert first != other


@pytest.mark.parametrize(
    ("given", "error", "words"),
    [
        ({"when": "61 * * * *"}, InvalidSchedule, "minute"),
        ({"when": "0 0 30 2 *"}, InvalidSchedule, "30"),
        ({"when": "FREQ=FORTNIGHTLY"}, InvalidSchedule, "rrule"),
        ({"when": "2020-01-01T00:00"}, NeverFires, "no fire"),
        ({"zone": "Europe/Berln"}, UnknownZone, "Europe/Berln"),
        ({"policies": {"misfire": "sometimes"}}, InvalidSchedule, "misfire"),
        ({"policies": {"overlap": "perhaps"}}, InvalidSchedule, "overlap"),
        ({"effect_key": "report-{{weak}}"}, InvalidSchedule, "weak"),
        ({"calendars": ("holidays",)}, InvalidSchedule, "no calendar 'holidays'"),
        ({"jitter_seconds": -1}, InvalidSchedule, "jitter_seconds"),
        ({"max_fires": 0}, InvalidSchedule, "max_fires"),
        ({"dst_gap": "maybe"}, InvalidSchedule, "dst_gap"),
        ({"name": "has a blank"}, InvalidInput, "is not a name"),
        ({"name": "sch_01JD3M0V5T7QK4C8R2N6W9XYZA"}, InvalidInput, "is an id"),
        ({"note": "n" * 1001}, InvalidInput, "1000"),
        ({"delay_ms": 5}, InvalidSchedule, "delay: this is no option of a schedule"),
        ({"key": "k"}, InvalidSchedule, "key"),
        ({"unique_key": "k"}, InvalidSchedule, "unique"),
        ({"kind": "nobody", "kind_is_known": False, "declared": None}, UnknownKind, "nobody"),
        ({"payload": b'{"dya": 3}', "kind_is_known": False}, InvalidPayload, "dya"),
        ({"payload": b'{"day": "' + b"x" * 20_000 + b'"}'}, InvalidSchedule, "payload"),
        ({"tenant": "no tenant"}, InvalidInput, "tenant"),
        (
            {
                "starts_at": datetime(2030, 1, 2, tzinfo=UTC),
                "ends_at": datetime(2030, 1, 1, tzinfo=UTC),
            },
            InvalidSchedule,
            "before the start",
        ),
    ],
)
async def test_bad_input_is_refused_before_anything_is_stored(
    schedules: ScheduleGateway, given: dict[str, Any], error: type[Exception], words: str
) -> None:
    with pytest.raises(error, match=words) as found:
        await made(schedules, **given)
    if isinstance(found.value, MainspringError):
        assert found.value.hint
    assert await schedules.list(ScheduleFilter()) == []


async def test_fires_too_often_are_refused_by_the_setting(store: Any) -> None:
    desk = FrontDesk(store, blobs=None, new_id=new_job_id, seconds_min=60)
    with pytest.raises(FiresTooOften, match="the minimum is 60 s"):
        await made(desk.schedules, when="*/30 * * * * *")
    assert (await made(desk.schedules, when="* * * * *")).version == 1


async def test_a_name_is_taken_once_in_a_tenant(schedules: ScheduleGateway) -> None:
    await made(schedules)
    with pytest.raises(ScheduleExists):
        await made(schedules)
    await made(schedules, tenant="other")


async def test_an_unknown_schedule_is_told_with_the_nearest_names(
    schedules: ScheduleGateway,
) -> None:
    await made(schedules)
    with pytest.raises(NotFound, match="nightl") as found:
        await schedules.get("nightl")
    assert found.value.hint == "did you mean nightly?"
    with pytest.raises(NotFound):
        await schedules.get("sch_01JD3M0V5T7QK4C8R2N6W9XYZA")


async def test_an_edit_replaces_what_is_not_due(
    schedules: ScheduleGateway, clock: SettableClock
) -> None:
    view = await made(schedules, when="*/5 * * * *", policies={"overlap": "allow"})
    before = await schedules.history("nightly")
    assert before
    changed = await schedules.edit(
        "nightly", draft(when="*/3 * * * *", policies={"overlap": "allow"}), actor=ADA
    )
    assert changed.version == view.version + 1
    after = {row.nominal_at.minute % 3 for row in await schedules.history("nightly")}
    assert after == {0}
    again = await schedules.edit(
        "nightly", draft(when="*/3 * * * *", policies={"overlap": "allow"}), actor=ADA
    )
    assert again == changed


async def test_an_edit_of_another_version_is_refused(schedules: ScheduleGateway) -> None:
    await made(schedules)
    await schedules.edit("nightly", draft(when="*/3 * * * *"), actor=ADA)
    with pytest.raises(Conflict, match="changed meanwhile"):
        await schedules.edit("nightly", draft(when="*/4 * * * *"), version=1, actor=ADA)


async def test_a_pause_has_a_reason_and_an_end_and_survives_an_edit(
    schedules: ScheduleGateway, clock: SettableClock
) -> None:
    await made(schedules)
    until = clock.now() + timedelta(hours=3)
    assert await schedules.pause("nightly", reason="audit", until=until, actor=ADA)
    assert not await schedules.pause("nightly", reason="audit", until=until, actor=ADA)
    view = await schedules.edit("nightly", draft(when="*/7 * * * *"), actor=ADA)
    assert (view.state, view.paused_reason) == (ScheduleState.PAUSED, "audit")
    assert await schedules.resume("nightly", actor=ADA)
    assert not await schedules.resume("nightly", actor=ADA)
    with pytest.raises(InvalidInput, match="has passed"):
        await schedules.pause("nightly", until=clock.now(), actor=ADA)
    with pytest.raises(NaiveDatetime):
        await schedules.pause("nightly", until=datetime(2030, 1, 1), actor=ADA)  # noqa: DTZ001


async def test_a_resume_catches_up_only_when_asked_to(
    schedules: ScheduleGateway, clock: SettableClock
) -> None:
    await made(schedules)
    await made(schedules, name="eager")
    for name in ("nightly", "eager"):
        await schedules.pause(name, actor=ADA)
    clock.advance(timedelta(hours=5))
    await schedules.resume("nightly", actor=ADA)
    await schedules.resume("eager", catch_up=True, actor=ADA)
    (row, *_) = await schedules.history("nightly", outcomes=frozenset({Outcome.SKIPPED_PAUSED}))
    assert row.count == 5
    caught = await schedules.history("eager", outcomes=frozenset({Outcome.JOB}))
    assert [each.cause for each in caught] == [Cause.CATCH_UP]


async def test_a_fire_by_hand_is_a_job_and_moves_nothing(
    schedules: ScheduleGateway, desk: FrontDesk
) -> None:
    view = await made(schedules)
    job = await desk.get_job(await schedules.fire_now("nightly", actor=ADA))
    assert (job.kind, job.schedule_id) == ("report", view.id)
    with pytest.raises(WouldOverlap, match="allows no overlap"):
        await schedules.fire_now("nightly", actor=ADA)
    second = await schedules.fire_now("nightly", despite_overlap=True, actor=ADA)
    assert second != job.id
    assert len(await schedules.history("nightly", limit=10)) >= 2


async def test_the_next_fires_can_be_left_out_and_are_shown_so(schedules: ScheduleGateway) -> None:
    await made(schedules, when="*/5 * * * *", policies={"overlap": "allow"})
    await schedules.skip_next("nightly", 2, actor=ADA)
    coming = await schedules.next("nightly", count=4)
    assert [bool(each.note) for each in coming.upcoming] == [True, True, False, False]
    await schedules.skip_next("nightly", 0, actor=ADA)
    assert not any(each.note for each in (await schedules.next("nightly")).upcoming)
    with pytest.raises(InvalidInput, match="count"):
        await schedules.skip_next("nightly", 61, actor=ADA)


async def test_what_comes_ends_at_the_maximum(schedules: ScheduleGateway) -> None:
    await made(schedules, when="*/5 * * * *", max_fires=4, policies={"overlap": "allow"})
    assert len((await schedules.next("nightly", count=10)).upcoming) == 4


async def test_a_removed_schedule_keeps_its_ledger_and_changes_no_more(
    schedules: ScheduleGateway,
) -> None:
    view = await made(schedules)
    assert await schedules.remove("nightly", actor=ADA)
    assert not await schedules.remove(view.schedule_id, actor=ADA)
    with pytest.raises(NotFound):
        await schedules.get("nightly")
    assert (await schedules.get(view.schedule_id)).state is ScheduleState.DELETED
    with pytest.raises(NotFound, match="was removed"):
        await schedules.pause(view.schedule_id, actor=ADA)
    with pytest.raises(NotFound, match="was removed"):
        await schedules.fire_now(view.schedule_id, actor=ADA)
    assert (await made(schedules)).id != view.id


# --- the past -------------------------------------------------------------------------------------


def ask(clock: SettableClock, hours: int, **given: Any) -> BackfillAsk:
    now = clock.now()
    return BackfillAsk(from_at=now - timedelta(hours=hours), until_at=now, **given)


async def test_a_backfill_takes_up_the_past_by_the_present_rule(
    schedules: ScheduleGateway, clock: SettableClock
) -> None:
    await made(schedules)
    foreseen = await schedules.backfill("nightly", ask(clock, 24), dry_run=True, actor=ADA)
    assert (foreseen.id, foreseen.fires) == (None, 24)
    assert await schedules.backfills("nightly") == []
    done = await schedules.backfill("nightly", ask(clock, 24), actor=ADA)
    assert done.fires == 24
    (kept,) = await schedules.backfills("nightly")
    assert (kept.id, kept.fires, kept.state) == (done.id, 24, "active")
    again = await schedules.backfill("nightly", ask(clock, 24), actor=ADA)
    assert (again.id, again.fires, again.left) == (None, 0, {"in_a_backfill": 24})
    assert done.id is not None
    assert await schedules.cancel_backfill(done.id, actor=ADA)
    assert not await schedules.cancel_backfill(done.id, actor=ADA)


async def test_a_backfill_that_cannot_be_is_refused(
    schedules: ScheduleGateway, clock: SettableClock
) -> None:
    await made(schedules, when="* * * * *")
    now = clock.now()
    for wanted, error, words in (
        (ask(clock, 24 * 8), LimitReached, "more than 10,000 fires"),
        (ask(clock, 1, concurrency=0), InvalidInput, "concurrency"),
        (ask(clock, 1, order="any"), UnknownOption, "order"),
        (ask(clock, 1, reprocess="some"), UnknownOption, "reprocess"),
        (BackfillAsk(from_at=now, until_at=now + timedelta(hours=1)), InvalidInput, "not come"),
        (BackfillAsk(from_at=now, until_at=now - timedelta(hours=1)), InvalidInput, "before from"),
    ):
        with pytest.raises(error, match=words):
            await schedules.backfill("nightly", wanted, actor=ADA)
    assert await schedules.backfills("nightly") == []


async def test_an_audit_reads_the_ledger_page_by_page(
    schedules: ScheduleGateway, store: Any, clock: SettableClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("mainspring.registry.ledger.PAGE_ITEMS_MAX", 7)
    await made(schedules, when="*/5 * * * *", policies={"overlap": "allow", "misfire": "fire_all"})
    clock.advance(timedelta(hours=6))
    await schedules.skip_next("nightly", 0, actor=ADA)
    found = await schedules.audit("nightly")
    assert found.audited.is_clean
    assert found.audited.expected == found.audited.accounted == 72
    assert found.undecided == 0


async def test_an_audit_finds_what_was_taken_out_of_the_ledger(
    schedules: ScheduleGateway,
    desk: FrontDesk,
    clock: SettableClock,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    await made(schedules, when="*/5 * * * *", policies={"overlap": "allow", "misfire": "fire_all"})
    clock.advance(timedelta(hours=2))
    await schedules.skip_next("nightly", 0, actor=ADA)
    rows = await schedules.history("nightly", limit=100)
    lost = rows[10]
    list_fires = desk.schedules.store.list_fires

    async def with_a_loss(*args: Any, **options: Any) -> Any:
        return [row for row in await list_fires(*args, **options) if row != lost]

    monkeypatch.setattr(desk.schedules.store, "list_fires", with_a_loss)
    found = (await schedules.audit("nightly")).audited
    assert (found.gaps, found.doubles, found.unexpected) == (1, 0, 0)
    assert found.findings[0].nominal_at == lost.nominal_at


async def test_fires_that_nobody_has_decided_are_told_apart_from_gaps(
    schedules: ScheduleGateway, clock: SettableClock
) -> None:
    await made(schedules)
    clock.advance(timedelta(hours=5))
    found = await schedules.audit("nightly")
    assert found.audited.is_clean
    assert found.undecided >= 4


# --- unknown outcomes -----------------------------------------------------------------------------


class Shaky:
    """The store, whose next answer is lost after the change was made, or before."""

    def __init__(self, store: Any) -> None:
        self._store = store
        self.loses: list[str] = []

    def __getattr__(self, name: str) -> Any:
        found = getattr(self._store, name)
        if name not in ("create_schedule", "judge_named", "create_backfill"):
            return found

        async def call(*args: Any, **options: Any) -> Any:
            loss = self.loses.pop(0) if self.loses else ""
            if loss == "before":
                raise OutcomeUnknown
            answer = await found(*args, **options)
            if loss == "after":
                raise OutcomeUnknown
            return answer

        return call


@pytest.mark.parametrize("loss", ["before", "after"])
async def test_a_lost_answer_is_settled_without_a_double(
    store: Any, clock: SettableClock, loss: str
) -> None:
    shaky = Shaky(store)
    schedules = FrontDesk(shaky, blobs=None, new_id=new_job_id).schedules
    shaky.loses = [loss]
    await made(schedules, policies={"overlap": "allow"})
    shaky.loses = [loss]
    assert (
        await schedules.edit(
            "nightly", draft(when="*/9 * * * *", policies={"overlap": "allow"}), actor=ADA
        )
    ).version == 2
    shaky.loses = [loss]
    job = await schedules.fire_now("nightly", actor=ADA)
    by_hand = [
        row.job_id
        for row in await schedules.history("nightly", limit=100)
        if row.cause is Cause.MANUAL
    ]
    assert by_hand == [job]
    shaky.loses = [loss]
    await schedules.backfill("nightly", ask(clock, 3), actor=ADA)
    assert len(await schedules.backfills("nightly")) == 1
    shaky.loses = [loss]
    await schedules.put_calendar(calendar("12-25"), actor=ADA)
    shaky.loses = [loss]
    assert await schedules.remove("nightly", actor=ADA)


async def test_changes_are_announced(schedules: ScheduleGateway, store: Any) -> None:
    heard = store.wakeups.subscribe({"schedules"})
    await made(schedules)
    assert await heard.wait(5)
    queue = store.wakeups.subscribe({"queue:reports"})
    await schedules.fire_now("nightly", actor=ADA)
    assert await queue.wait(5)
    heard.close()
    queue.close()
