"""Each of the doctor's checks of schedules, on schedules in which its thing is broken."""

from datetime import UTC, datetime, timedelta
from typing import Any

import msgspec
import pytest

from mainspring.agenda.spec import Spec, Work, spec_text
from mainspring.agenda.standing import Cursor
from mainspring.cli.schedule_checkup import SCHEDULE_CHECKS, ScheduleFacts, ask_schedules
from mainspring.domain.audit import Audited
from mainspring.domain.ids import SCHEDULE, show
from mainspring.domain.limits import PAGE_ITEMS_MAX
from mainspring.domain.schedule import ScheduleState, ScheduleView
from mainspring.policies.firing import policies_of
from mainspring.ports.entropy import new_job_id
from mainspring.ports.gateway import Submission
from mainspring.ports.scheduling import ScheduleAudit, ScheduleDraft
from mainspring.registry.desk import FrontDesk
from mainspring.scheduler.firing import Firing
from mainspring.store.sqlite import open_sqlite
from mainspring.testing.clock import SettableClock
from mainspring.timetable.definition import Definition
from mainspring.timetable.zones import zone_data_number

NOW = datetime(2027, 1, 1, 12, tzinfo=UTC)
EPOCH = int(NOW.timestamp())


def spec(**times: Any) -> bytes:
    work = Work(
        kind="report",
        payload="{}",
        queue="default",
        priority=50,
        max_attempts=1,
        max_crashes=1,
        backoff=None,
        timeout_ms=1_000,
        on_exhausted=None,
        effect_key=None,
    )
    definition = Definition(when=("0 * * * *",), **times)
    return spec_text(Spec(times=definition, work=work, policies=policies_of({}), note=""))


def schedule(name: str = "nightly", *, next_in: int = 3_600, **given: Any) -> ScheduleView:
    cursor = Cursor(through=EPOCH - 60, next_at=EPOCH + next_in)
    fields: dict[str, Any] = {
        "id": name.encode().ljust(16, b"."),
        "tenant": "default",
        "name": name,
        "state": ScheduleState.ACTIVE,
        "version": 1,
        "spec": spec(),
        "cursor": msgspec.json.encode(cursor),
        "zones": 202_606,
        "created_at": NOW,
        "updated_at": NOW,
        "updated_by": "ada",
        "look_at": NOW + timedelta(minutes=10),
    }
    return ScheduleView(**fields | given)


def paused(by: str) -> ScheduleView:
    return schedule(
        state=ScheduleState.PAUSED,
        paused_by=by,
        paused_at=NOW - timedelta(hours=2),
        paused_reason="3 failures in a row",
    )


def audit(*, gaps: int = 0, doubles: int = 0) -> ScheduleAudit:
    audited = Audited(
        after=NOW - timedelta(hours=1),
        through=NOW,
        expected=4,
        accounted=4 - gaps,
        outcomes={},
        findings=(),
        gaps=gaps,
        doubles=doubles,
        unexpected=0,
    )
    return ScheduleAudit(schedule=schedule(), audited=audited)


def facts(*active: ScheduleView, **given: Any) -> ScheduleFacts:
    return ScheduleFacts(now=NOW, zones=202_606, active=active or (schedule(),), **given)


LATE: dict[str, Any] = {"look_at": NOW - timedelta(minutes=7)}
OLD = schedule(zones=202_502)
NEW = schedule(zones=202_701)


@pytest.mark.parametrize("check", SCHEDULE_CHECKS)
def test_where_nothing_is_broken_nothing_is_found(check: str) -> None:
    sound = facts(paused=[paused("cli:ada")], audits=[audit()])
    assert SCHEDULE_CHECKS[check](sound)[0] == "ok"
    assert SCHEDULE_CHECKS[check](ScheduleFacts(now=NOW, zones=202_606))[0] == "ok"


BROKEN = [
    ("firing", "warn", facts(schedule(**LATE)), "1 schedule is overdue, nightly for 7m",
     "mainspring scheduler start"),
    ("firing", "warn", facts(schedule(**LATE), schedule("b", **LATE)), "2 schedules are overdue",
     "--no-scheduler"),
    ("judging", "fail", facts(schedule(next_in=-400)), "nightly: a fire is due, and cannot",
     "mainspring schedules audit"),
    ("pauses", "warn", facts(paused=[paused("scheduler")]),
     "nightly paused itself for 2h: 3 failures in a row", "mainspring schedules resume nightly"),
    ("zone-data", "warn", facts(older=[OLD]),
     "1 schedule was computed with zone data 2025.2, and this machine has 2026.6",
     "start a scheduler"),
    ("zone-data", "warn", facts(newer=[NEW], older=[OLD]), "zone data 2027.1",
     "pip install --upgrade tzdata"),
    ("zone-data", "warn", facts(older=[OLD] * PAGE_ITEMS_MAX), "500 schedules or more were", ""),
    ("ledger", "fail", facts(audits=[audit(), audit(gaps=2, doubles=1)]),
     "nightly within 1h: 2 missing, 1 doubled", "mainspring schedules audit nightly"),
]  # fmt: skip


@pytest.mark.parametrize(
    ("check", "status", "found", "what", "hint"),
    BROKEN,
    ids=[f"{row[0]} {row[3]}" for row in BROKEN],
)
def test_what_is_broken_is_found(
    check: str, status: str, found: ScheduleFacts, what: str, hint: str
) -> None:
    judged = SCHEDULE_CHECKS[check](found)
    assert judged[0] == status
    assert what in judged[1]
    assert hint in judged[2]


@pytest.mark.parametrize(
    "view",
    [
        schedule(next_in=-400, waiting=True),
        schedule(next_in=-200),
        schedule(next_in=-400, spec=spec(jitter_seconds=300)),
    ],
    ids=["waits for a job's end", "a moment ago", "spread by jitter"],
)
def test_a_fire_that_has_a_reason_to_wait_is_no_finding(view: ScheduleView) -> None:
    assert SCHEDULE_CHECKS["judging"](facts(view))[0] == "ok"


def test_every_check_can_find_something() -> None:
    assert {row[0] for row in BROKEN} == SCHEDULE_CHECKS.keys()


async def test_a_store_is_asked_for_all_of_it() -> None:
    clock = SettableClock()
    store = await open_sqlite(":memory:", clock=clock)
    try:
        await store.migrate(phase="all")
        desk = FrontDesk(store, blobs=None, new_id=new_job_id)
        for name in ("nightly", "hourly"):
            work = Submission(kind="report", kind_is_known=True)
            draft = ScheduleDraft(name=name, when=("0 * * * *",), work=work)
            await desk.schedules.create(draft, actor="ada")
        await desk.schedules.pause("hourly", actor="ada")
        clock.advance(timedelta(hours=3))
        found = await ask_schedules(store, clock.now())
        assert [view.name for view in found.active] == ["nightly"]
        assert [view.name for view in found.paused] == ["hourly"]
        assert (found.is_all, found.zones) == (True, zone_data_number())
        assert (list(found.older), list(found.newer)) == ([], [])
        assert SCHEDULE_CHECKS["firing"](found)[0] == "warn"
        firing = Firing(store, new_id=new_job_id, roll=lambda: 0.5)
        while await firing.step() == 0.0:
            pass
        found = await ask_schedules(store, clock.now())
        assert {name: check(found)[0] for name, check in SCHEDULE_CHECKS.items()} == dict.fromkeys(
            SCHEDULE_CHECKS, "ok"
        )
        assert [each.schedule.schedule_id for each in found.audits] == [
            show(SCHEDULE, found.active[0].id)
        ]
        assert found.audits[0].audited.expected == 1
    finally:
        await store.close()
