"""What clock changes make of a timetable's fires: times that are left out, merged, or shown twice.

>>> notes = clock_notes(simple_timetable("30 2 * * *", name), zone(name), after, after + YEAR)
>>> [note.text for note in notes]
['02:30 does not exist: a missed fire, due at 03:00', 'no fire is touched']
"""

from collections.abc import Iterator, Sequence
from itertools import islice
from typing import Final, Literal

import msgspec

from mainspring.timetable.civil import wall_text
from mainspring.timetable.clocked import Clocked, FireKind
from mainspring.timetable.timetable import DST_SKIPPED, Fire, Timetable
from mainspring.timetable.words import joined
from mainspring.timetable.zones import Zone

#: So many instants around one change are looked at, and so many fires of one instant.
_INSTANTS_MAX: Final = 8_192
_FIRES_MAX: Final = 128
_SHOWN_MAX: Final = 4

Effect = Literal["missed", "moved", "dropped", "first_pass", "second_pass", "both_passes", "none"]


class ClockNote(msgspec.Struct, frozen=True, kw_only=True):
    """What one change of the clock does to some fires of a timetable."""

    #: The instant of the change, in seconds.
    at: int
    #: The local date of the change.
    date: str
    #: ``the clock goes from 02:00 to 03:00``.
    change: str
    effect: Effect
    #: Wall times that are touched, by the rule.
    times: tuple[str, ...] = ()
    text: str


def clock_notes(timetable: Timetable, there: Zone, after: int, until: int) -> list[ClockNote]:
    """Return a note or more for every change after an instant and up to another."""
    found: list[ClockNote] = []
    change = there.next_change(after)
    while change is not None and change[0] <= until:
        found += _of_change(timetable, there, change)
        change = there.next_change(change[0])
    return found


def _of_change(
    timetable: Timetable, there: Zone, change: tuple[int, int, int]
) -> Iterator[ClockNote]:
    at, before, now = change
    date = wall_text(at + min(before, now))[:10]
    is_gap = now > before
    word = "from" if is_gap else "back from"
    told = f"the clock goes {word} {_shown(at + before, date)} to {_shown(at + now, date)}"
    effects = _gap(timetable, at, _shown(at + now, date)) if is_gap else _fold(timetable, there, at)
    is_empty = True
    for effect, times, text in effects:
        is_empty = False
        yield ClockNote(at=at, date=date, change=told, effect=effect, times=times, text=text)
    if is_empty:
        yield ClockNote(at=at, date=date, change=told, effect="none", text="no fire is touched")


Told = tuple[Effect, tuple[str, ...], str]


def _gap(timetable: Timetable, at: int, end: str) -> Iterator[Told]:
    fires = timetable.fires_at(at, _FIRES_MAX) if timetable.next_at(at - 1) == at else []
    missed = _times(fire for fire in fires if fire.kind is FireKind.GAP)
    if missed:
        is_merged = len(missed) < len(fires)
        what = "a missed fire" if len(missed) == 1 else "missed fires"
        beside = " beside the regular one" if is_merged else ""
        text = f"{_listed(missed)} {_do_not(missed)} exist: {what}, due at {end}{beside}"
        one = "; fire_once makes one job of them" if len(fires) > 1 else ""
        yield "missed", missed, text + one
    moved = _times(fire for fire in fires if fire.kind is FireKind.SHIFTED)
    if moved:
        yield "moved", moved, f"{_listed(moved)} {_do_not(moved)} exist: moved to {end}"
    lost = timetable.not_fired(at - 1, at, _FIRES_MAX, reason=DST_SKIPPED).fires
    dropped = _times(fire for fire in lost if fire.nominal_at == at)
    if dropped:
        yield "dropped", dropped, f"{_listed(dropped)} {_do_not(dropped)} exist: dropped"


def _fold(timetable: Timetable, there: Zone, at: int) -> Iterator[Told]:
    if not any(isinstance(source, Clocked) for source in timetable.sources):
        # Elapsed time knows no wall clock.
        return
    span = there.offset_at(at - 1) - there.offset_at(at)
    passes: tuple[dict[str, None], dict[str, None]] = ({}, {})
    for instant in islice(timetable.instants(at - span - 1, at + span - 1), _INSTANTS_MAX):
        wall = wall_text(instant + there.offset_at(instant))
        passes[instant >= at][_clock(wall)] = None
    first, second = passes
    groups: tuple[tuple[Effect, tuple[str, ...], str], ...] = (
        ("both_passes", tuple(time for time in first if time in second), "in both passes"),
        (
            "first_pass",
            tuple(time for time in first if time not in second),
            "at the first pass only",
        ),
        (
            "second_pass",
            tuple(time for time in second if time not in first),
            "at the second pass only",
        ),
    )
    for effect, times, how in groups:
        if times:
            is_one = len(times) == 1
            text = f"{_listed(times)} {'is' if is_one else 'are'} shown twice: "
            yield effect, times, text + f"fire{'s' if is_one else ''} {how}"


def _times(fires: Iterator[Fire]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(_clock(fire.local) for fire in fires))


def _clock(wall: str) -> str:
    """Return the time of day, its seconds where there are some."""
    return wall[11:].removesuffix(":00") if wall.count(":") > 1 else wall[11:]


def _shown(wall: int, date: str) -> str:
    """Return a wall time; with its date where that is another one."""
    text = wall_text(wall // 60 * 60)
    return text[11:16] if text[:10] == date else f"{text[:10]} {text[11:16]}"


def _listed(times: Sequence[str]) -> str:
    if len(times) <= _SHOWN_MAX + 1:
        return joined(times)
    return f"{', '.join(times[:_SHOWN_MAX])} and {len(times) - _SHOWN_MAX} more"


def _do_not(times: Sequence[str]) -> str:
    return "does not" if len(times) == 1 else "do not"
