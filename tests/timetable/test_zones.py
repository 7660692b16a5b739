"""Zones: the same offsets as zoneinfo gives, every name, and what is no zone."""

import time
import zoneinfo
from datetime import UTC, datetime, timedelta

import pytest

from mainspring.domain.errors import UnknownZone
from mainspring.timetable.zones import (
    version_number,
    zone,
    zone_data_number,
    zone_data_version,
    zone_names,
)

NAMES = sorted(zone_names())
END = int(datetime(2199, 12, 31, tzinfo=UTC).timestamp())


def offset(there: zoneinfo.ZoneInfo, instant: int) -> int:
    found = datetime.fromtimestamp(instant, there).utcoffset()
    assert found is not None
    return found // timedelta(seconds=1)


@pytest.fixture(scope="module", autouse=True)
def bundled_data() -> object:
    path = zoneinfo.TZPATH
    zoneinfo.reset_tzpath(to=[])
    zoneinfo.ZoneInfo.clear_cache()
    yield
    zoneinfo.reset_tzpath(to=path)
    zoneinfo.ZoneInfo.clear_cache()


def test_every_offset_is_that_of_zoneinfo() -> None:
    for number, name in enumerate(NAMES):
        there, ours = zoneinfo.ZoneInfo(name), zone(name)
        for at, before, after in ours.changes():
            assert (offset(there, at - 1), offset(there, at)) == (before, after), (name, at)
        for instant in range(number * 86_400, END, 211 * 86_400):
            assert ours.offset_at(instant) == offset(there, instant), (name, instant)


def test_names() -> None:
    assert len(NAMES) > 500
    assert {"UTC", "America/New_York", "Asia/Kolkata", "Etc/GMT+5", "Japan"} <= set(NAMES)
    assert not {"EST", "CET", "MST7MDT", "GMT", "localtime", "Factory"} & set(NAMES)
    assert zone("Europe/Berlin") is zone("Europe/Berlin")
    assert zone_data_version()


def test_versions_of_the_zone_data_are_numbers_that_grow() -> None:
    assert version_number("2026.6") == 202_606
    assert version_number("2026.10") == 202_610 < version_number("2027.1.post1") == 202_701
    assert zone_data_number() > 202_500


@pytest.mark.parametrize(
    ("name", "ahead"), [("+05:30", 19_800), ("-03:00", -10_800), ("+0000", 0), ("UTC", 0)]
)
def test_fixed_offsets(name: str, ahead: int) -> None:
    assert zone(name).offset_at(0) == zone(name).offset_at(END) == ahead
    assert zone(name).next_change(0) is None


@pytest.mark.parametrize(
    ("name", "meant"),
    [
        ("america/new_york", "America/New_York"),
        ("America/New York", "America/New_York"),
        ("Berlin", "Europe/Berlin"),
        ("Europe/Berln", "Europe/Berlin"),
        ("Asia/Calcuta", "Asia/Calcutta"),
        ("EST", "America/New_York"),
        ("CET", "Europe/Berlin"),
        ("GMT", "UTC"),
        ("Z", "UTC"),
        ("utc", "UTC"),
    ],
)
def test_what_is_no_zone_is_answered_with_the_nearest(name: str, meant: str) -> None:
    with pytest.raises(UnknownZone) as caught:
        zone(name)
    assert meant in caught.value.hint
    assert caught.value.code == "unknown_zone"


@pytest.mark.parametrize(
    "name",
    ["", "localtime", "posix/Europe/Berlin", "right/UTC", "../../etc/passwd", "Europe", "+19:00",
     "+01:60", "-24:00", "Europe/Berlin\x00", "\u0661", "x" * 100_000, "Europe/Berlin ", "Factory"],
)  # fmt: skip
def test_what_is_no_zone(name: str) -> None:
    zone("UTC")
    took = []
    for _ in range(5):
        begun = time.perf_counter()
        with pytest.raises(UnknownZone) as caught:
            zone(name)
        took.append(time.perf_counter() - begun)
        assert len(caught.value.message) < 120
    assert min(took) < 0.005
