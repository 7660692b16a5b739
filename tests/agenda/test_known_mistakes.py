"""Mistakes that schedulers are known to make with time: none of them may come back."""

from __future__ import annotations

import re
from datetime import datetime
from pathlib import Path
from zoneinfo import ZoneInfo

import msgspec
import pytest

import mainspring
from mainspring.agenda.judge import advance
from mainspring.agenda.standing import Cursor
from mainspring.timetable.cron_hash import resolve_hashes
from mainspring.timetable.definition import Definition, compile_timetable
from mainspring.timetable.explain import sentence
from mainspring.timetable.jitter import delay_ms
from tests.agenda.standings import (
    DAY,
    HOUR,
    MINUTE,
    NOON,
    at,
    ids,
    jobs_of,
    live,
    rows_of,
    spec_of,
    standing_of,
)

STORE = Path(mainspring.__file__).parent / "store"
_INDEX = re.compile(r"CREATE (?:UNIQUE )?INDEX\s+([^;]*);")
#: What is another value at each look; an index over it cannot be made, or is wrong soon.
_CLOCK = re.compile(r"\b(now|current_\w+|clock_timestamp|unixepoch|strftime|datetime|random)\b")


def predicates() -> dict[str, str]:
    """Every condition of a partial index, by file and index."""
    found = {}
    for path in sorted(STORE.rglob("*.sql")):
        text = re.sub(r"--[^\n]*", "", path.read_text(encoding="utf-8"))
        for statement in _INDEX.findall(text):
            columns, where, condition = statement.partition("WHERE")
            if where:
                found[f"{path.relative_to(STORE)}: {columns.split()[0]}"] = condition.lower()
    return found


def test_no_index_depends_on_the_time_it_was_made() -> None:
    found = predicates()
    assert len(found) > 5
    assert _CLOCK.search("due_at <= now()")
    assert [name for name, condition in found.items() if _CLOCK.search(condition)] == []


@pytest.mark.parametrize("overlap", ["allow", "defer", "skip", "cancel_running", "replace"])
def test_a_job_that_failed_for_good_does_not_bring_its_fire_back(overlap: str) -> None:
    spec = spec_of(overlap=overlap)
    fired = advance(standing_of(spec, NOON, through=NOON - 1), ids(), horizon_ms=0)
    assert jobs_of(fired) == [NOON]
    # Whatever became of the job, it is not live any more; nothing else is left of it here.
    for late in (1, 30, 5 * MINUTE, HOUR - 1):
        again = advance(standing_of(spec, NOON + late, cursor=fired.cursor), ids(), horizon_ms=0)
        assert rows_of(again) == []
        assert again.cursor.through < NOON + HOUR
    following = standing_of(spec, NOON + HOUR, cursor=fired.cursor)
    assert jobs_of(advance(following, ids(), horizon_ms=0)) == [NOON + HOUR]


def test_who_looks_again_before_the_work_is_done_finds_nothing_to_do() -> None:
    """A burst that takes minutes to work off is not given out twice: no lease is on a schedule."""
    spec = spec_of("0 0 * * *", overlap="allow")
    midnight = NOON - NOON % DAY
    first = advance(standing_of(spec, midnight, through=midnight - 1), ids(), horizon_ms=0)
    assert jobs_of(first) == [midnight]
    for late in range(0, 600, 30):
        standing = standing_of(spec, midnight + late, cursor=first.cursor, live=live(midnight))
        assert rows_of(advance(standing, ids(), horizon_ms=0)) == []


def test_a_hash_of_any_name_lands_within_its_range() -> None:
    """A remainder of a signed hash is negative for half of all names; ours never is."""
    for number in range(3_000):
        name = f"tenant/{number * 7919:x}"
        assert 0 <= delay_ms(name, number, 10) < 10
        assert 0 <= int(resolve_hashes("H 3 * * *", name).split()[0]) <= 59
    assert {delay_ms(str(number), None, 10) for number in range(500)} == set(range(10))


def test_nine_on_mondays_in_new_york_is_a_monday_there() -> None:
    definition = Definition(when=("0 9 * * MON",), zone="America/New_York")
    found = compile_timetable(definition)
    summer = found.next_at(at("2026-06-05T12:00Z"))
    assert summer == at("2026-06-08T13:00Z")
    winter = found.next_at(at("2026-12-01T12:00Z"))
    assert winter == at("2026-12-07T14:00Z")
    for instant in (summer, winter):
        assert f"{datetime.fromtimestamp(instant, ZoneInfo('America/New_York')):%a %H}" == "Mon 09"
    assert sentence(definition) == "at 09:00 on Monday, New York time"


def test_delays_change_neither_the_key_of_a_fire_nor_the_beat() -> None:
    """Neither jitter nor a late look is part of what a fire is known by."""
    keys: set[object] = set()
    for late, jitter in ((0, 0), (17, 0), (50, 900), (59, 3_000)):
        spec = spec_of(times={"jitter_seconds": jitter}, overlap="allow")
        standing = standing_of(spec, NOON + late, through=NOON - 1)
        ruling = advance(standing, ids(), horizon_ms=4 * HOUR * 1000)
        assert jobs_of(ruling)[:2] == [NOON, NOON + HOUR]
        keys.add(tuple(fire.job.effect_key for fire in ruling.fires[:2] if fire.job))
    assert len(keys) == 1


@pytest.mark.parametrize("minutes", [1, 29, 59, 61, 150, 1_000])
def test_the_next_fire_comes_from_the_rule_and_not_from_now(minutes: int) -> None:
    """What was missed is found, and what comes is on the full hour, however late the look is."""
    now = NOON + minutes * MINUTE
    spec = spec_of(misfire="fire_all", overlap="allow")
    ruling = advance(standing_of(spec, now, through=NOON - 1), ids(), horizon_ms=0)
    expected = list(range(NOON, now + 1, HOUR))
    assert jobs_of(ruling) == expected
    assert ruling.cursor.next_at == expected[-1] + HOUR


@pytest.mark.parametrize(
    ("overlap", "expected"),
    [
        ("allow", [NOON + HOUR]),
        ("replace", [NOON + HOUR]),
        ("cancel_running", []),
        ("defer", []),
        ("skip", []),
    ],
)
def test_a_job_that_never_ends_stops_no_schedule(overlap: str, expected: list[int]) -> None:
    standing = standing_of(
        spec_of(overlap=overlap), NOON + HOUR, cursor=Cursor(NOON), live=live(NOON)
    )
    ruling = advance(standing, ids(), horizon_ms=0)
    assert jobs_of(ruling) == expected
    assert rows_of(ruling) or ruling.waiting
    ended = msgspec.structs.replace(
        standing, now_ms=(NOON + 2 * HOUR) * 1000, cursor=ruling.cursor, live=None
    )
    assert NOON + 2 * HOUR in jobs_of(advance(ended, ids(), horizon_ms=0))
