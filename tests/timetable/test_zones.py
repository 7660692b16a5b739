"""Zones: the same offsets as zoneinfo gives, every name, and what is no zone."""

import zoneinfo
from datetime import UTC, datetime, timedelta
from importlib.resources import files

import pytest

from mainspring.domain.errors import UnknownZone
from mainspring.timetable.definition import Definition, compile_timetable
from mainspring.timetable.zones import (
    ZoneData,
    version_number,
    zone,
    zone_data_number,
    zone_data_version,
    zone_names,
)
from tests.timetable.steps import steps

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
    with pytest.raises(UnknownZone):
        zone("Nowhere/At_All")

    def refused() -> None:
        with pytest.raises(UnknownZone) as caught:
            zone(name)
        assert len(caught.value.message) < 120
        assert caught.value.hint

    assert steps(refused) < 8_000


class Folder:
    """Zone files in memory, in place of those of the bundled package."""

    def __init__(self, files: dict[str, bytes]) -> None:
        self.files = files
        self.read: list[str] = []

    def __call__(self, name: str) -> bytes:
        self.read.append(name)
        return self.files[name]


def test_zones_come_from_any_data() -> None:
    held = {"Europe/Berlin": bundled_file("Europe/Berlin"), "Mars/Base": bundled_file("Asia/Tokyo")}
    folder = Folder(held)
    found = ZoneData("2099z", held, folder)
    assert (found.version, found.names) == (
        "2099z",
        frozenset({"Europe/Berlin", "Mars/Base", "UTC"}),
    )
    assert found.zone("Europe/Berlin").changes() == zone("Europe/Berlin").changes()
    assert found.zone("Mars/Base").offset_at(0) == 9 * 3600
    assert found.zone("Mars/Base") is found.zone("Mars/Base")
    assert folder.read == ["Europe/Berlin", "Mars/Base"]
    assert found.zone("+05:30").offset_at(0) == 19_800
    with pytest.raises(UnknownZone, match="there is no zone 'Europe/Paris'"):
        found.zone("Europe/Paris")
    with pytest.raises(UnknownZone) as caught:
        found.zone("Mars/Bas")
    assert "Mars/Base" in caught.value.hint


def test_a_definition_is_compiled_with_the_zones_that_are_given() -> None:
    there = ZoneData("2099z", ["Mars/Base"], lambda name: bundled_file("Asia/Tokyo"))
    definition = Definition(when=("0 9 * * *",), zone="Mars/Base")
    assert compile_timetable(definition, zones=there).next_at(-1) == 0
    with pytest.raises(UnknownZone):
        compile_timetable(definition)


@pytest.mark.parametrize(
    "content",
    [b"", b"TZif", b"no zone file at all" * 9, b"TZif1" + bytes(60), b"TZif2" + bytes(50)],
)
def test_a_zone_file_that_cannot_be_read_is_told(content: bytes) -> None:
    there = ZoneData("2099z", ["Mars/Base"], lambda name: content)
    with pytest.raises(UnknownZone, match="2099z of Mars/Base cannot be read"):
        there.zone("Mars/Base")


def bundled_file(name: str) -> bytes:
    return files("tzdata").joinpath("zoneinfo", name).read_bytes()


def test_the_change_before_and_the_change_after() -> None:
    there = zone("America/New_York")
    spring, autumn = 1_710_054_000, 1_730_613_600
    assert there.next_change(spring - 1) == (spring, -18_000, -14_400)
    assert there.next_change(spring) == (autumn, -14_400, -18_000)
    assert there.last_change(spring) == (spring, -18_000, -14_400)
    assert there.last_change(spring - 1) != (spring, -18_000, -14_400)
    assert zone("UTC").last_change(END) is None
