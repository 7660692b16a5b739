"""A timetable: the fires of one schedule, from all its rules, bounds and calendars.

Whole seconds go in and come out; ``Fire`` is for people and for the ledger.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Final, NamedTuple

import msgspec

from mainspring.domain.errors import LimitReached
from mainspring.domain.limits import PREVIEW_FIRES_MAX
from mainspring.timetable.calendars import Heeded
from mainspring.timetable.civil import BEFORE, NEVER, WALL_END, moment, wall_text
from mainspring.timetable.clocked import Clocked, FireKind, Nominal, Source
from mainspring.timetable.jitter import delay_ms

#: Why a nominal fire does not fire, in the words of the ledger.
DST_SKIPPED: Final = "dst_skipped"
EXCLUDED_BY_CALENDAR: Final = "excluded_by_calendar"


class Fire(msgspec.Struct, frozen=True, kw_only=True):
    """One nominal fire. ``(nominal_at, sequence)`` is unique within a schedule."""

    #: When it is due, in seconds since 1970, before jitter; a wall time that does not exist is due
    #: at the end of its gap.
    nominal_at: int
    #: 0, except where a gap makes several wall times share one instant.
    sequence: int
    #: The wall time by the rule, and its zone.
    local: str
    zone: str
    kind: FireKind
    #: Set when it does not fire: ``dst_skipped`` or ``excluded_by_calendar``.
    reason: str | None = None
    #: The wall time before a calendar moved it.
    moved_from: str | None = None

    @property
    def is_missed(self) -> bool:
        """Say whether the misfire policy has to judge it: its wall time does not exist."""
        return self.kind is FireKind.GAP


class Fires(NamedTuple):
    """The answer to a question for a range."""

    fires: list[Fire]
    #: Every fire up to here is in the list; ask again from here for more.
    through: int
    #: The list ends at the range's end, not at the limit.
    is_complete: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Bounds:
    """Where a timetable begins and ends. The count of fires is kept by who asks."""

    starts_at: int = 0
    #: The last instant that may fire.
    ends_at: int = NEVER - 1
    max_fires: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Jitter:
    """The window in which fires are spread."""

    window_ms: int = 0
    #: The same delay for every fire of a schedule, instead of another for each.
    is_fixed: bool = False


class Timetable:
    """All fires of a schedule. ``next_at(after)`` is strictly after; ``None`` says never."""

    __slots__ = ("_dropped", "_sources", "bounds", "jitter")

    def __init__(
        self,
        sources: Sequence[Source],
        *,
        dropped: Sequence[Source] = (),
        bounds: Bounds = Bounds(),
        jitter: Jitter = Jitter(),
    ) -> None:
        """Unite sources; ``dropped`` are fires that calendars take away."""
        self._sources: Final = tuple(sources)
        self._dropped: Final = tuple(dropped)
        self.bounds: Final = bounds
        self.jitter: Final = jitter

    @property
    def sources(self) -> tuple[Source, ...]:
        """Return what the timetable unites."""
        return self._sources

    def next_at(self, after: int, *, fired: int = 0) -> int | None:
        """Return the first instant after this one that fires; ``fired`` counts those that did."""
        if self.bounds.max_fires is not None and fired >= self.bounds.max_fires:
            return None
        found = self._next(after)
        return found if found < NEVER else None

    def _next(self, after: int) -> int:
        after = max(after, self.bounds.starts_at - 1)
        found = min(source.next_at(after) for source in self._sources)
        return found if found <= self.bounds.ends_at else NEVER

    def previous_at(self, before: int) -> int | None:
        """Return the last instant before this one that fires."""
        before = min(before, self.bounds.ends_at + 1, WALL_END)
        found = max(source.previous_at(before) for source in self._sources)
        return found if found > BEFORE and found >= self.bounds.starts_at else None

    def instants(self, after: int, until: int) -> Iterator[int]:
        """Give every instant after one and up to another; each is computed when asked for."""
        instant = self._next(after)
        while instant <= until and instant < NEVER:
            yield instant
            instant = self._next(instant)

    def fires_at(self, instant: int, limit: int = PREVIEW_FIRES_MAX) -> list[Fire]:
        """Return the fires of one instant: the regular one, then what a gap left over."""
        found = [
            (nominal, source)
            for source in self._sources
            for nominal in source.nominals(instant, limit)
        ]
        # A regular fire swallows one that was shifted to the same instant.
        found.sort(key=lambda pair: pair[0].kind is FireKind.SHIFTED)
        regular = [pair for pair in found if pair[0].kind is not FireKind.GAP][:1]
        missed = {(pair[0].wall, pair[1].zone.name): pair for pair in found}
        for nominal, source in found:
            if nominal.kind is not FireKind.GAP:
                missed.pop((nominal.wall, source.zone.name), None)
        ordered = [*regular, *(missed[key] for key in sorted(missed))][:limit]
        return [
            _fire(instant, sequence, nominal, source)
            for sequence, (nominal, source) in enumerate(ordered)
        ]

    def between(self, after: int, until: int, limit: int = PREVIEW_FIRES_MAX) -> Fires:
        """Return the fires after an instant and up to another, oldest first.

        An instant whose fires would go over the limit is left for the next question; the first
        one is cut instead, so that every question gets on.
        """
        if not 0 < limit <= PREVIEW_FIRES_MAX:
            raise LimitReached(f"limit: {limit} is not from 1 to {PREVIEW_FIRES_MAX}")
        fires: list[Fire] = []
        through = after
        for instant in self.instants(after, until):
            here = self.fires_at(instant, limit)
            if fires and len(fires) + len(here) > limit:
                return Fires(fires, through, is_complete=False)
            fires += here
            through = instant
        return Fires(fires, until, is_complete=True)

    def not_fired(
        self,
        after: int,
        until: int,
        limit: int = PREVIEW_FIRES_MAX,
        *,
        reason: str | None = None,
    ) -> Fires:
        """Return what would have fired but for a gap or a calendar (or one of the two)."""
        fires: list[Fire] = []
        through = after
        while (instant := self.next_not_fired(through, reason)) <= until:
            here = [
                fire
                for fire in self._not_fired_at(instant, limit)
                if reason is None or fire.reason == reason
            ]
            if fires and len(fires) + len(here) > limit:
                return Fires(fires, through, is_complete=False)
            fires += here
            through = instant
        return Fires(fires, until, is_complete=True)

    def next_not_fired(self, after: int, reason: str | None = None) -> int:
        """Return the first instant after this one that may have such, else ``NEVER``."""
        after = max(after, self.bounds.starts_at - 1)
        found = NEVER
        if reason != EXCLUDED_BY_CALENDAR:
            found = min((source.next_lost(after) for source in self._sources), default=NEVER)
        if reason != DST_SKIPPED:
            found = min([found, *(source.next_at(after) for source in self._dropped)])
        return found if found <= self.bounds.ends_at else NEVER

    def _not_fired_at(self, instant: int, limit: int) -> list[Fire]:
        """Return what does not fire at an instant, numbered after what does."""
        found: dict[tuple[int, str], Fire] = {}
        fired = len(self.fires_at(instant, limit))
        for source in self._sources:
            for wall in source.lost(instant, limit):
                nominal = Nominal(wall, FireKind.GAP)
                fire = _fire(instant, fired + len(found), nominal, source, DST_SKIPPED)
                found.setdefault((wall, source.zone.name), fire)
        for source in () if fired else self._dropped:
            for nominal in source.nominals(instant, limit):
                fire = _fire(instant, len(found), nominal, source, EXCLUDED_BY_CALENDAR)
                found.setdefault((nominal.wall, source.zone.name), fire)
        return list(found.values())[:limit]

    def due_ms(self, schedule: str, nominal_at: int) -> int:
        """Return when a fire is due, in milliseconds, with its jitter: always before the next."""
        window = self.jitter.window_ms
        if not window:
            return nominal_at * 1000
        following = self._next(nominal_at)
        window = min(window, (following - nominal_at) * 1000)
        of_fire = None if self.jitter.is_fixed else nominal_at
        return nominal_at * 1000 + delay_ms(schedule, of_fire, window)


def _fire(
    instant: int, sequence: int, nominal: Nominal, source: Source, reason: str | None = None
) -> Fire:
    moved_from = None
    if isinstance(source, Clocked) and isinstance(source.rule, Heeded) and reason is None:
        origin = source.rule.origin(nominal.wall)
        moved_from = wall_text(origin) if origin != nominal.wall else None
    return Fire(
        nominal_at=instant,
        sequence=sequence,
        local=wall_text(nominal.wall),
        zone=source.zone.name,
        kind=nominal.kind,
        reason=reason,
        moved_from=moved_from,
    )


class Move(NamedTuple):
    """What new zone data or an edit changed: an instant that fires no longer, or newly."""

    instant: str
    is_new: bool


def moves(old: Timetable, new: Timetable, after: int, until: int, limit: int = 100) -> list[Move]:
    """Return the instants in a range that only one of two timetables has, in order."""
    return _apart(old.instants(after, until), new.instants(after, until), limit)


def moved(prepared: Iterable[int], new: Timetable, after: int, limit: int = 100) -> list[Move]:
    """Compare instants that an older timetable gave with as many of a new one, in order."""
    before = sorted(set(prepared))
    return _apart(iter(before), islice(new.instants(after, NEVER - 1), len(before)), limit)


def _apart(before: Iterator[int], now: Iterator[int], limit: int) -> list[Move]:
    """Return what only one of two rows of instants has."""
    found: list[Move] = []
    one, other = next(before, NEVER), next(now, NEVER)
    while (one < NEVER or other < NEVER) and len(found) < limit:
        if one == other:
            one, other = next(before, NEVER), next(now, NEVER)
        elif one < other:
            found.append(Move(moment(one).isoformat(), is_new=False))
            one = next(before, NEVER)
        else:
            found.append(Move(moment(other).isoformat(), is_new=True))
            other = next(now, NEVER)
    return found
