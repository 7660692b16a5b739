"""Varied schedules, drawn from a seed: every sort of rule, in twenty zones, under every policy."""

import random
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from itertools import product
from typing import Any

import msgspec

from mainspring.ports.scheduling import CalendarDraft, ScheduleDraft
from tests.registry.drafts import draft
from tests.scheduler.year.expected import (
    Calendar,
    Cron,
    Elapsed,
    Expected,
    Given,
    Heeding,
    Listed,
    Rules,
    rule_of,
)

BEGIN = datetime(2027, 1, 1, tzinfo=UTC)
#: What is computed for an anchor ends here.
_FAR = datetime(2029, 1, 1)  # noqa: DTZ001 - a wall time
_TWO_YEARS = (int(BEGIN.timestamp()), int(BEGIN.timestamp()) + 730 * 86_400)

#: With gaps and folds at midnight, of half an hour, of two hours, against the sun, and none at all.
ZONES = (
    "UTC",
    "Africa/Cairo",
    "Africa/Casablanca",
    "America/Havana",
    "America/Los_Angeles",
    "America/New_York",
    "America/Nuuk",
    "America/Santiago",
    "America/Sao_Paulo",
    "America/St_Johns",
    "Antarctica/Troll",
    "Asia/Beirut",
    "Asia/Gaza",
    "Asia/Kathmandu",
    "Asia/Tokyo",
    "Australia/Lord_Howe",
    "Australia/Sydney",
    "Europe/Dublin",
    "Europe/London",
    "Pacific/Chatham",
)

#: Rules, with how many fires a year they have at most, about.
_RARE = (
    ("30 2 * * *",),
    ("0 9 * * MON-FRI",),
    ("0 0 1 * *",),
    ("15 1 L * *",),
    ("0 12 LW * *",),
    ("45 6 15W * *",),
    ("0 8 * * MON#2",),
    ("30 1 * * 5L",),
    ("0 0 13 * FRI",),
    ("0 0 */2 * MON",),
    ("@daily",),
    ("@weekly",),
    ("20 2,3 * * *",),
    ("0 0 L-3 * *",),
    ("30 15 4 * * *",),
    ("0,20,40 30 1 * * SUN",),
    ("*/20 2 * * SAT,SUN",),
    ("30 0 * * *", "30 2 * * SUN,MON"),
    ("45 23 * * *",),
    ("0,30 1 * * SUN",),
    ("FREQ=WEEKLY;INTERVAL=2;BYDAY=MO,TH;BYHOUR=7;BYMINUTE=30",),
    ("FREQ=MONTHLY;BYDAY=-1FR;BYHOUR=2;BYMINUTE=30",),
    ("FREQ=MONTHLY;BYMONTHDAY=-1",),
    ("FREQ=YEARLY;BYMONTH=3,10,11;BYDAY=-1SU,1SU,2SU;BYHOUR=2;BYMINUTE=15",),
    ("FREQ=DAILY;INTERVAL=3;COUNT=60",),
    ("FREQ=MONTHLY;BYDAY=MO,TU,WE,TH,FR;BYSETPOS=-1",),
    ("FREQ=WEEKLY;BYDAY=SU;BYHOUR=1,2,3;BYMINUTE=0,30;UNTIL=20271201T000000",),
    ("every 36h",),
    ("every 11h",),
    ("R/2027-01-31T09:00/P1M",),
    ("R/2027-01-30T02:30/P3M",),
    ("R/2027-01-02T02:15/P2D",),
    ("R/2027-01-03T00:30/P1W",),
    ("at 2027-03-14T02:30, 2027-03-28T01:30, 2027-05-05T12:00, 2027-10-31T01:30",),
    ("at 2027-02-01T00:00:00Z, 2027-06-30T23:59:59Z, 2027-12-31T06:00:00Z",),
    ("0 6 * * *", "FREQ=MONTHLY;BYMONTHDAY=1,15;BYHOUR=6;BYMINUTE=0"),
)
_FREQUENT = (
    ("0 */6 * * *",),
    ("0,30 2 * * *",),
    ("0 */4 * * *",),
    ("FREQ=HOURLY;INTERVAL=8",),
    ("every 7h",),
    ("*/30 1,2 * * *",),
)
#: So often that they are bounded to some days, or minutes.
_DENSE = (
    (("30 * * * *",), timedelta(days=25)),
    (("*/20 * * * *",), timedelta(days=8)),
    (("every 90m",), timedelta(days=30)),
    (("*/5 * * * *",), timedelta(days=2)),
    (("*/20 * * * * *",), timedelta(minutes=45)),
)
#: Clock changes of some zones: what is dense is so on such days.
_NEAR_CHANGES = ("2027-03-13", "2027-03-27", "2027-04-03", "2027-10-02", "2027-10-30", "2027-11-06")

CALENDARS = (
    CalendarDraft(name="holidays", entries=("2027-03-29", "12-25", "2027-08-02..2027-08-15")),
    CalendarDraft(name="weekends", entries=("SAT,SUN",)),
    CalendarDraft(name="freeze", entries=("2027-11-26T18:00..2027-11-30T06:00", "01-01")),
)
_HEEDED = {each.name: Calendar(each.entries) for each in CALENDARS}

MISFIRES = ("fire_once", "skip", "fire_all")
OVERLAPS = ("allow", "defer", "skip", "cancel_running", "replace")


@dataclass(frozen=True)
class Plan:
    """A schedule to be made, and what the second opinion needs to know of it."""

    draft: ScheduleDraft
    rules: Rules
    misfire: str
    overlap: str
    threshold: int
    window: int | None
    max_missed: int
    policies: dict[str, Any] = field(repr=False)

    @property
    def name(self) -> str:
        """Return the schedule's name."""
        return self.draft.name

    def expected(self, after: int, until: int) -> Expected:
        """Return what belongs into its ledger."""
        return self.rules.expected(after, until)


def plans(count: int, seed: int, *, days: int = 365) -> list[Plan]:
    """Draw schedules: each combination of the policies, each sort of rule, each zone."""
    dice = random.Random(seed)
    pairs = list(product(MISFIRES, OVERLAPS))
    dice.shuffle(pairs)
    rare = list(_RARE)
    dice.shuffle(rare)
    found = []
    for number in range(count):
        when, bounds = rare[number % len(rare)], None
        if number % 10 == 3:
            when = _FREQUENT[number // 10 % len(_FREQUENT)]
        elif number % 10 == 7:
            when, length = _DENSE[number // 10 % len(_DENSE)]
            bounds = _near_a_change(dice, length, days)
        misfire, overlap = pairs[number % len(pairs)]
        zone = ZONES[number % len(ZONES)]
        plan = _plan(f"s{number}", when, zone, (misfire, overlap), dice, bounds)
        while (plan.draft.calendars or bounds) and not plan.expected(*_TWO_YEARS).fires:
            # It would never fire, and be refused.
            plan = _plan(f"s{number}", when, zone, (misfire, overlap), dice, bounds)
        found.append(plan)
    return found


def _near_a_change(dice: random.Random, length: timedelta, days: int) -> tuple[datetime, datetime]:
    last = BEGIN + timedelta(days=days)
    chosen = [datetime.fromisoformat(day).replace(tzinfo=UTC) for day in _NEAR_CHANGES]
    begin = dice.choice([day for day in chosen if day < last] or [BEGIN + timedelta(days=3)])
    begin += timedelta(hours=dice.randrange(24))
    return begin, begin + length


def _plan(
    name: str,
    when: tuple[str, ...],
    zone: str,
    pair: tuple[str, str],
    dice: random.Random,
    bounds: tuple[datetime, datetime] | None,
) -> Plan:
    misfire, overlap = pair
    policies: dict[str, Any] = {
        "misfire": misfire,
        "overlap": overlap,
        "misfire_threshold_seconds": dice.choice((0, 60, 60, 600, 7200)),
        "catchup_window_seconds": dice.choice((None, None, None, 600, 21_600, 172_800)),
        "max_missed": dice.choice((3, 100)),
        "catchup_rate": dice.choice((6, 60, 600)),
        "pause_after_failures": dice.choice((None,) * 12 + (1, 2)),
    }
    anchor = None
    if any(rule.startswith(("FREQ=", "every ")) for rule in when):
        minute = dice.choice(("00:00", "02:30", "09:45"))
        anchor = f"2026-12-{dice.randrange(20, 29)}T{minute}"
        if when[0].startswith("every "):
            anchor += "Z"
    given: dict[str, Any] = {"zone": zone, "anchor": anchor}
    given["dst_gap"] = dice.choice(("policy", "policy", "shift", "skip"))
    given["dst_fold"] = dice.choice(("first", "first", "second", "both"))
    if dice.random() < 0.25:
        given["jitter_seconds"] = dice.choice((30, 1200, 7200))
        given["jitter_mode"] = dice.choice(("per_fire", "fixed"))
    if bounds is not None:
        given["starts_at"], given["ends_at"] = bounds
    elif dice.random() < 0.15:
        given["starts_at"] = BEGIN + timedelta(days=dice.randrange(1, 40), seconds=1)
    if dice.random() < 0.12:
        given["max_fires"] = dice.choice((1, 5, 40))
    heeding = _heeded(when, dice, given)
    rules = _rules(when, given, heeding)
    return Plan(
        draft=msgspec.structs.replace(
            draft(name, policies=policies, max_attempts=2, **given), when=when
        ),
        rules=rules,
        misfire=misfire,
        overlap=overlap,
        threshold=policies["misfire_threshold_seconds"],
        window=policies["catchup_window_seconds"],
        max_missed=policies["max_missed"],
        policies=policies,
    )


def _heeded(when: tuple[str, ...], dice: random.Random, given: dict[str, Any]) -> Heeding:
    if dice.random() > 0.3:
        return Heeding()
    is_on_the_wall = not when[0].startswith("every") and "Z" not in when[0]
    if is_on_the_wall:
        given["on_excluded"] = dice.choice(("skip", "next_business_day", "previous_business_day"))
    names = dice.choice((("holidays",), ("weekends",), ("holidays", "freeze"), ("freeze",)))
    if dice.random() < 0.15:
        given["only_on"], names = ("weekends",), ("freeze",)
    given["calendars"] = names
    return Heeding(
        excluded=tuple(_HEEDED[each] for each in names),
        included=tuple(_HEEDED[each] for each in given.get("only_on", ())),
        then=given.get("on_excluded", "skip"),
    )


def _rules(when: tuple[str, ...], given: dict[str, Any], heeding: Heeding) -> Rules:
    read = [rule_of(text, given["anchor"], _FAR) for text in when]
    starts, ends = given.get("starts_at"), given.get("ends_at")
    return Rules(
        on_the_wall=[rule for rule in read if isinstance(rule, Cron | Listed)],
        off_the_wall=[rule for rule in read if isinstance(rule, Elapsed | Given)],
        zone=given["zone"],
        gap=given["dst_gap"],
        fold=given["dst_fold"],
        heeding=heeding,
        starts_at=0 if starts is None else int(starts.timestamp()),
        ends_at=1 << 40 if ends is None else int(ends.timestamp()),
    )
