"""The judge on the table of instants: what becomes a job under each misfire policy."""

from __future__ import annotations

import msgspec
import pytest

from mainspring.agenda.judge import advance
from mainspring.agenda.standing import Cursor, Live
from mainspring.domain.states import JobState
from mainspring.timetable.civil import moment
from tests.agenda.standings import at, ids, spec_of, standing_of
from tests.timetable.test_instants import SAME, TABLE, Row

LOOKS_MAX = 400


def expected(row: Row, misfire: str, overlap: str) -> list[str]:
    if misfire == "fire_all" and overlap in ("cancel_running", "replace"):
        # The newest takes the place of the others.
        misfire = "fire_once"
    column = {"fire_once": row.once, "skip": row.regular, "fire_all": row.each}[misfire]
    return (row.once if column == SAME else column).split()


@pytest.mark.parametrize("overlap", ["allow", "defer", "skip", "cancel_running", "replace"])
@pytest.mark.parametrize("misfire", ["fire_once", "skip", "fire_all"])
@pytest.mark.parametrize(
    "row", [pytest.param(row, id=f"{number}") for number, row in enumerate(TABLE, 1)]
)
def test_the_table_of_instants(row: Row, misfire: str, overlap: str) -> None:
    """Every job ends as soon as it is due, and the scheduler looks when it said it would."""
    begins = at(row.after)
    spec = spec_of(row.expression, times={"zone": row.zone}, misfire=misfire, overlap=overlap)
    standing = standing_of(spec, begins, cursor=Cursor(begins))
    new_id = ids()
    found: list[str] = []
    wanted = expected(row, misfire, overlap)
    last_due = 0
    for _ in range(LOOKS_MAX):
        ruling = advance(standing, new_id)
        for fire in ruling.fires:
            if fire.job is not None:
                assert fire.job.nominal_at is not None
                found.append(f"{fire.job.nominal_at:%Y-%m-%dT%H:%MZ}")
                last_due = fire.row.due_ms
        if len(found) >= len(wanted):
            break
        now_ms = max(last_due, standing.now_ms) if ruling.waiting else ruling.look_at_ms
        assert now_ms is not None
        waits = last_due > now_ms
        standing = msgspec.structs.replace(
            standing,
            cursor=ruling.cursor,
            waiting=ruling.waiting,
            now_ms=now_ms,
            live=Live(b"j" * 16, JobState.SCHEDULED, last_due) if waits else None,
            freed_ms=last_due,
        )
    assert found[: len(wanted)] == wanted, moment(begins)
