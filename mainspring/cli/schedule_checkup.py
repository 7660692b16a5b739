"""The doctor's checks of schedules: who fires, what rests, what moved, what the ledger says."""

from collections.abc import Callable, Mapping, Sequence
from datetime import datetime, timedelta
from typing import Final

import msgspec

from mainspring.agenda.spec import read_spec
from mainspring.agenda.standing import Cursor
from mainspring.cli.text import count_of, rough
from mainspring.domain.limits import PAGE_ITEMS_MAX
from mainspring.domain.schedule import ScheduleState, ScheduleView
from mainspring.ports.schedules import ScheduleFilter
from mainspring.ports.scheduling import ScheduleAudit
from mainspring.ports.store import Store
from mainspring.registry.schedule_questions import ScheduleQuestions
from mainspring.timetable.zones import zone_data_number

#: So many pages of schedules are looked at, and so many schedules audited, so far back.
_LOOK_PAGES: Final = 4
_AUDITS_MAX: Final = 50
_AUDIT_SPAN: Final = timedelta(hours=1)
#: A scheduler looks within seconds; what has been due for longer is looked at by none.
_LATE: Final = timedelta(minutes=1)
#: So long a fire that is due may be undecided while somebody does look.
_UNDECIDED: Final = timedelta(minutes=5)
#: Who pauses a schedule after its failures.
_SCHEDULER: Final = "scheduler"

Judged = tuple[str, str, str]


class ScheduleFacts(msgspec.Struct, frozen=True, kw_only=True):
    """What a store told about its schedules."""

    now: datetime
    #: Those that are to fire; more exist when ``is_all`` is false.
    active: Sequence[ScheduleView] = ()
    is_all: bool = True
    paused: Sequence[ScheduleView] = ()
    #: A page of those that were computed under other zone data than this machine's.
    zones: int
    older: Sequence[ScheduleView] = ()
    newer: Sequence[ScheduleView] = ()
    audits: Sequence[ScheduleAudit] = ()


async def ask_schedules(store: Store, now: datetime) -> ScheduleFacts:
    """Look at schedules; what is looked at is bounded, however many there are."""
    zones = zone_data_number()
    wanted = ScheduleFilter(states=frozenset({ScheduleState.ACTIVE}))
    active: list[ScheduleView] = []
    is_all = False
    for _ in range(_LOOK_PAGES):
        after = active[-1].id if active else None
        page = await store.list_schedules(wanted, limit=PAGE_ITEMS_MAX, after=after)
        active += page
        is_all = len(page) < PAGE_ITEMS_MAX
        if is_all:
            break

    async def some(which: ScheduleFilter) -> list[ScheduleView]:
        return await store.list_schedules(which, limit=PAGE_ITEMS_MAX)

    questions = ScheduleQuestions(store)
    return ScheduleFacts(
        now=now,
        active=active,
        is_all=is_all,
        paused=await some(ScheduleFilter(states=frozenset({ScheduleState.PAUSED}))),
        zones=zones,
        older=await some(ScheduleFilter(zones_before=zones)),
        newer=await some(ScheduleFilter(zones_after=zones)),
        audits=[
            await questions.audit(view.schedule_id, from_at=now - _AUDIT_SPAN)
            for view in active[:_AUDITS_MAX]
        ],
    )


def firing(facts: ScheduleFacts) -> Judged:
    """Judge whether somebody fires what is due."""
    late = [
        (facts.now - view.look_at, view)
        for view in facts.active
        if view.look_at is not None and facts.now - view.look_at > _LATE
    ]
    if late:
        longest, view = max(late, key=lambda pair: pair[0])
        is_one = len(late) == 1
        what = f"{count_of(len(late), 'schedule')} {'is' if is_one else 'are'} overdue"
        what += f", {view.name} for {rough(longest)}: nobody fires"
        hint = "mainspring scheduler start, or a worker without --no-scheduler"
        return "warn", what, hint
    more = "" if facts.is_all else " or more"
    return "ok", f"{count_of(len(facts.active), 'active schedule')}{more}, none is overdue", ""


def judging(facts: ScheduleFacts) -> Judged:
    """Judge whether a schedule rests because it cannot be judged."""
    resting = [view for view in facts.active if _rests(view, facts.now)]
    if resting:
        others = f" and {len(resting) - 1:,} more" if len(resting) > 1 else ""
        what = f"{resting[0].name}{others}: a fire is due, and cannot be decided"
        hint = "the log of the scheduler says why; mainspring schedules audit shows what is owed"
        return "fail", what, hint
    return "ok", "every fire that is due is decided", ""


def _rests(view: ScheduleView, now: datetime) -> bool:
    """Tell a schedule that is looked at, and whose due fire stays undecided nevertheless."""
    if view.waiting or view.look_at is None or now - view.look_at > _LATE:
        return False
    next_at = msgspec.json.decode(view.cursor, type=Cursor).next_at
    if next_at is None:
        return False
    spread = timedelta(seconds=read_spec(view.spec).times.jitter_seconds)
    return now.timestamp() - next_at > (_UNDECIDED + spread).total_seconds()


def pauses(facts: ScheduleFacts) -> Judged:
    """Judge whether failures have paused a schedule."""
    failed = [view for view in facts.paused if view.paused_by == _SCHEDULER]
    if failed:
        first = failed[0]
        others = f" and {len(failed) - 1:,} more" if len(failed) > 1 else ""
        since = f" for {rough(facts.now - first.paused_at)}" if first.paused_at else ""
        what = f"{first.name}{others} paused itself{since}: {first.paused_reason or 'failures'}"
        return "warn", what, f"mend its handler, then: mainspring schedules resume {first.name}"
    count = len(facts.paused)
    return "ok", f"{count_of(count, 'schedule')} paused, none by its failures", ""


def zone_data(facts: ScheduleFacts) -> Judged:
    """Judge whether the zone data of this machine is that of the schedules."""
    here = _version(facts.zones)
    if facts.newer:
        newest = _version(max(view.zones for view in facts.newer))
        what = f"{_some(facts.newer)} computed with zone data {newest}, and this machine has {here}"
        return "warn", what, "pip install --upgrade tzdata here, so that all nodes agree"
    if facts.older:
        oldest = _version(min(view.zones for view in facts.older))
        what = f"{_some(facts.older)} computed with zone data {oldest}, and this machine has {here}"
        hint = "start a scheduler with this version: it takes them along, and logs what moved"
        return "warn", what, hint
    return "ok", f"every schedule was computed with zone data {here}", ""


def _some(views: Sequence[ScheduleView]) -> str:
    count = f"{PAGE_ITEMS_MAX} schedules or more" if len(views) == PAGE_ITEMS_MAX else ""
    return f"{count or count_of(len(views), 'schedule')} {'was' if len(views) == 1 else 'were'}"


def _version(number: int) -> str:
    return f"{number // 100}.{number % 100}"


def ledger(facts: ScheduleFacts) -> Judged:
    """Judge whether the ledger has every fire once."""
    broken = [found for found in facts.audits if not found.audited.is_clean]
    span = rough(_AUDIT_SPAN)
    if broken:
        first = broken[0]
        audited = first.audited
        counts = {
            "missing": audited.gaps, "doubled": audited.doubles, "unexpected": audited.unexpected,
        }  # fmt: skip
        told = ", ".join(f"{count:,} {word}" for word, count in counts.items() if count)
        others = f", and {len(broken) - 1:,} more" if len(broken) > 1 else ""
        what = f"{first.schedule.name} within {span}: {told}{others}"
        return "fail", what, f"mainspring schedules audit {first.schedule.name}"
    fires = sum(found.audited.expected for found in facts.audits)
    what = f"{count_of(fires, 'fire')} of {count_of(len(facts.audits), 'schedule')} within {span}"
    return "ok", f"{what}, each has its row", ""


SCHEDULE_CHECKS: Final[Mapping[str, Callable[[ScheduleFacts], Judged]]] = {
    "firing": firing,
    "judging": judging,
    "pauses": pauses,
    "zone-data": zone_data,
    "ledger": ledger,
}
