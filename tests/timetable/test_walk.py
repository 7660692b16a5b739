"""The product against a walk over every minute, around every clock change of every zone.

``python -m tests.timetable.walk`` walks further around each of them, in each zone by itself.
"""

import random
import zoneinfo
from datetime import UTC, datetime
from typing import NamedTuple

import pytest

from mainspring.timetable import zones
from mainspring.timetable.zones import zone, zone_names
from tests.timetable.walk import Matcher, compared, walk

END = int(datetime(2038, 1, 1, tzinfo=UTC).timestamp())
NEAR = 3 * 86_400
PARTS = 4
#: Each at another minute or hour, so that any gap and any fold meets some of them.
NEAR_A_CHANGE = (
    "*/20 0-5,23 * * *",
    "7,37 */2 * * *",
    "15 * * * *",
    "*/30 * * * *",
    "0,30 0-4,21-23 * * *",
)

# Half hours, a lost day, midnight, an offset with seconds, summer time that is winter time.
ODD = [
    ("Australia/Lord_Howe", 4),
    ("Pacific/Apia", 6),
    ("Africa/Casablanca", 4),
    ("Africa/Monrovia", 1),
    ("America/Sao_Paulo", 2),
    ("America/Caracas", 2),
    ("Antarctica/Troll", 2),
    ("Antarctica/Casey", 4),
    ("Asia/Gaza", 3),
    ("Asia/Kathmandu", 1),
    ("Asia/Pyongyang", 2),
    ("Asia/Tehran", 2),
    ("America/Nuuk", 2),
    ("Europe/Dublin", 2),
    ("Pacific/Kwajalein", 1),
    ("America/New_York", 2),
]


def changes(name: str) -> list[int]:
    """Clock changes from 1970 to 2037."""
    return [at for at, _, _ in zone(name).changes() if at < END]


@pytest.mark.parametrize(("name", "count"), ODD)
def test_odd_zones(name: str, count: int) -> None:
    zoneinfo.reset_tzpath(to=[])
    known = changes(name)
    assert known
    dice = random.Random(name)
    for change in dice.sample(known, min(count, len(known))):
        assert compared(name, change) == []


class Change(NamedTuple):
    """A clock change: the same one in many zones is walked once."""

    instant: int
    before: int
    after: int
    #: The distance to its neighbours, where they are so near that they matter.
    alone: bool


def all_changes() -> dict[Change, list[str]]:
    """Every clock change from 1970 to 2037, with the zones that make it."""
    found: dict[Change, list[str]] = {}
    for name in sorted(zone_names()):
        made = [change for change in zone(name).changes() if change[0] < END]
        instants = [-NEAR, *(at for at, _, _ in made), END + NEAR]
        for (at, before, after), last, following in zip(
            made, instants[:-2], instants[2:], strict=True
        ):
            alone = at - last > NEAR and following - at > NEAR
            found.setdefault(Change(at, before, after, alone), []).append(name)
    return found


def walks() -> list[tuple[str, Change]]:
    """Each change in one of its zones, and each zone with one change at least."""
    found = all_changes()
    fresh: set[str] = set()
    chosen: list[tuple[str, Change]] = []
    for number, (change, names) in enumerate(found.items()):
        name = next((name for name in names if name not in fresh), names[number % len(names)])
        fresh.add(name)
        chosen.append((name, change))
    first = {name: change for change, names in reversed(found.items()) for name in names}
    return chosen + [(name, change) for name, change in first.items() if name not in fresh]


def test_every_change_and_every_zone_is_walked() -> None:
    chosen, found = walks(), all_changes()
    assert len(found) > 5_000
    assert {change for _, change in chosen} == set(found)
    with_changes = {name for name in zone_names() if changes(name)}
    assert len(with_changes) > 350
    assert {name for name, _ in chosen} == with_changes
    assert all(name in found[change] for name, change in chosen)


@pytest.mark.timeout(240)
@pytest.mark.parametrize("part", range(PARTS))
def test_every_clock_change_of_every_zone(part: int) -> None:
    zoneinfo.reset_tzpath(to=[])
    differences: list[str] = []
    for name, change in walks()[part::PARTS]:
        shift = abs(change.after - change.before)
        reach, lead = (shift + 5400, shift + 1800) if change.alone else (NEAR, NEAR)
        differences += compared(name, change.instant, NEAR_A_CHANGE, reach=reach, lead=lead)
    assert differences == []


def test_the_walk_can_find_a_difference() -> None:
    matcher = Matcher("30 2 * * *")
    fired = walk([matcher], "America/New_York", 1_710_000_000, 1_710_060_000)[matcher]
    assert [(at.wall, at.is_gap) for at in fired] == [("2024-03-10T02:30:00", True)]


def test_a_zone_that_is_not_the_one_walked_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(zones, "zone", lambda name: zone("America/Chicago"))
    assert compared("America/New_York", 1_710_054_000, ["30 2 * * *"])
