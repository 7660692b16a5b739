"""What new zone data, or an edit, makes of fires that were known before: which of them moved.

A fire at a fixed wall time is known by its wall time: nine in the morning stays nine in the
morning, at another instant. A fire of a beat (a cadence, an interval, an instant) is known by its
instant: where the same instant is still on the beat, nothing has moved.
"""

from collections import deque
from collections.abc import Sequence
from typing import Final

import msgspec

from mainspring.timetable.clocked import Clocked, FireKind
from mainspring.timetable.timetable import Fire, Timetable

#: No zone moved by more: Apia left out a day when it changed sides of the date line.
_REACH_SECONDS: Final = 26 * 3600

#: A zone, a wall time in it, and whether it is a later pass of a repeated hour.
_Wall = tuple[str, str, bool]


class MovedFire(msgspec.Struct, frozen=True, kw_only=True):
    """A fire that is at another instant now, or is gone, or is new."""

    local: str
    zone: str
    #: The instant before; ``None`` for a fire that is new.
    was_at: int | None
    #: The instant now; ``None`` for a fire that is gone.
    is_at: int | None


def moved_fires(
    known: Sequence[Fire], timetable: Timetable, after: int, until: int
) -> list[MovedFire]:
    """Return what moved, in order of time.

    ``known`` is every fire after an instant and up to another as it was computed before: what a
    store prepared ahead, or ``between`` of a timetable with the old zones. The span is one that
    ``between`` answers at once; a longer one is asked in pieces.
    """
    now = _fires(timetable, after - _REACH_SECONDS, until + _REACH_SECONDS)
    moved = [fire for fire in known if not _is_beat(timetable, fire.nominal_at)]
    stayed = {(_wall(fire), fire.nominal_at) for fire in moved}
    stayed &= {(_wall(fire), fire.nominal_at) for fire in now}
    #: A zone that went back twice within an hour has a time three times: those that are at
    #: another instant now are matched in their order.
    by_wall: dict[_Wall, deque[Fire]] = {}
    for fire in now:
        if (_wall(fire), fire.nominal_at) not in stayed:
            by_wall.setdefault(_wall(fire), deque()).append(fire)
    known_instants = {fire.nominal_at for fire in known}
    met: set[int] = {instant for _, instant in stayed}
    found: list[MovedFire] = []
    for fire in moved:
        if (_wall(fire), fire.nominal_at) in stayed:
            continue
        same = by_wall[_wall(fire)].popleft() if by_wall.get(_wall(fire)) else None
        if same is not None:
            met.add(same.nominal_at)
        found.append(_move(fire, fire.nominal_at, same.nominal_at if same else None))
    for fire in now:
        if not after < fire.nominal_at <= until or fire.nominal_at in met:
            continue
        if fire.nominal_at not in known_instants or not _is_beat(timetable, fire.nominal_at):
            found.append(_move(fire, None, fire.nominal_at))
    return sorted(found, key=_instant)


def _fires(timetable: Timetable, after: int, until: int) -> list[Fire]:
    fires: list[Fire] = []
    while after < until:
        some = timetable.between(after, until)
        fires += some.fires
        after = some.through
    return fires


def _wall(fire: Fire) -> _Wall:
    """Return what a fire at a fixed time is known by; a repeated hour has every time twice."""
    return fire.zone, fire.local, fire.kind is FireKind.REPEATED


def _is_beat(timetable: Timetable, instant: int) -> bool:
    """Say whether an instant is one of elapsed time, whatever the wall clock shows."""
    return any(
        source.nominals(instant, 1)
        for source in timetable.sources
        if not isinstance(source, Clocked) or source.rule.cadence
    )


def _move(fire: Fire, was_at: int | None, is_at: int | None) -> MovedFire:
    return MovedFire(local=fire.local, zone=fire.zone, was_at=was_at, is_at=is_at)


def _instant(move: MovedFire) -> int:
    at = move.is_at if move.was_at is None else move.was_at
    assert at is not None, "a move has one of its ends at least"
    return at
