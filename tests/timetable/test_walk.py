"""The product against a walk over every minute, around clock changes of a sample of zones.

``python -m tests.timetable.walk`` does the same for all changes of all zones.
"""

import random
import zoneinfo

import pytest

from mainspring.timetable.zones import zone, zone_names
from tests.timetable.walk import Matcher, compared, walk

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
    return [at for at, _, _ in zone(name).changes() if at < 2_145_916_800]


@pytest.mark.parametrize(("name", "count"), ODD)
def test_odd_zones(name: str, count: int) -> None:
    zoneinfo.reset_tzpath(to=[])
    known = changes(name)
    assert known
    dice = random.Random(name)
    for change in dice.sample(known, min(count, len(known))):
        assert compared(name, change) == []


def test_some_change_of_many_zones() -> None:
    zoneinfo.reset_tzpath(to=[])
    dice = random.Random(4)
    for name in dice.sample(sorted(zone_names()), 90):
        known = changes(name)
        if known:
            assert compared(name, dice.choice(known)) == [], name


def test_the_walk_can_find_a_difference() -> None:
    matcher = Matcher("30 2 * * *")
    fired = walk([matcher], "America/New_York", 1_710_000_000, 1_710_060_000)[matcher]
    assert [(at.wall, at.is_gap) for at in fired] == [("2024-03-10T02:30:00", True)]
