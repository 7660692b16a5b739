"""However long nobody looked, a ruling is bounded: in rows, in jobs, and in instants computed."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

import pytest

from mainspring.agenda.judge import advance
from mainspring.agenda.standing import Standing
from mainspring.domain.limits import COUNT_FIRES_MAX, PREPARE_FIRES_MAX
from mainspring.timetable.walls import WallRule
from tests.agenda.standings import DAY, NOON, blackout, ids, spec_of, standing_of

if TYPE_CHECKING:
    from collections.abc import Callable

#: Searches on the wall clock that one ruling may make; each takes some microseconds.
SEARCHES_MAX = 3 * COUNT_FIRES_MAX


@pytest.fixture
def searches(monkeypatch: pytest.MonkeyPatch) -> Counter[str]:
    """Count the searches of every rule."""
    made: Counter[str] = Counter()

    def counted(search: Callable[[WallRule, int], int]) -> Callable[[WallRule, int], int]:
        def counting(rule: WallRule, wall: int) -> int:
            made["all"] += 1
            return search(rule, wall)

        return counting

    monkeypatch.setattr(WallRule, "next_wall", counted(WallRule.next_wall))
    monkeypatch.setattr(WallRule, "previous_wall", counted(WallRule.previous_wall))
    return made


def after_a_year(calendars: bool, **policies: object) -> Standing:
    times, kept = blackout("12-25", "SAT,SUN") if calendars else ({}, None)
    spec = spec_of("* * * * * *", times=times | {"zone": "Europe/Berlin"}, **policies)
    return standing_of(spec, NOON, through=NOON - 365 * DAY, calendars=kept)


@pytest.mark.parametrize("calendars", [False, True])
@pytest.mark.parametrize("window", [None, 1800])
@pytest.mark.parametrize("overlap", ["allow", "defer", "skip", "cancel_running", "replace"])
@pytest.mark.parametrize("misfire", ["skip", "fire_once", "fire_all"])
def test_a_year_of_seconds_is_ruled_in_one_bounded_look(
    searches: Counter[str], misfire: str, overlap: str, window: int | None, *, calendars: bool
) -> None:
    policies = {"misfire": misfire, "overlap": overlap, "catchup_window_seconds": window}
    standing = after_a_year(calendars, **policies)
    ruling = advance(standing, ids())
    assert len(ruling.fires) <= PREPARE_FIRES_MAX + 8
    assert sum(fire.job is not None for fire in ruling.fires) <= PREPARE_FIRES_MAX
    assert 0 < searches["all"] <= SEARCHES_MAX
    if misfire != "fire_all" or overlap in ("cancel_running", "replace"):
        assert ruling.cursor.through >= NOON - 61


def test_calendars_are_searched_once_and_not_for_every_fire(searches: Counter[str]) -> None:
    times, kept = blackout("12-25")
    spec = spec_of("* * * * *", times=times | {"zone": "Europe/Oslo"}, overlap="allow")
    ruling = advance(standing_of(spec, NOON, through=NOON - 1, calendars=kept), ids())
    assert len(ruling.fires) == 16
    assert 0 < searches["all"] <= 6 * len(ruling.fires)
