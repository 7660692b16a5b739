"""The judge on the table of instants of the time semantics; more in the sibling files."""

from __future__ import annotations

import itertools
from datetime import datetime

import msgspec
import pytest

from mainspring.agenda.judge import advance
from mainspring.agenda.spec import Spec, Work, spec_text
from mainspring.agenda.standing import Cursor, Standing
from mainspring.domain.schedule import ScheduleState
from mainspring.policies.firing import Policies
from mainspring.timetable.definition import Definition

#: Rule, zone, after, and what becomes a job under each misfire policy (time of 2024, UTC).
CASES = [
    (
        "0,30 2 * * *",
        "2024-03-09T12:00Z",
        {
            "fire_once": ["03-10T07:00", "03-11T06:00"],
            "skip": ["03-11T06:00", "03-11T06:30"],
            "fire_all": ["03-10T07:00", "03-10T07:00", "03-11T06:00"],
        },
    ),
    (
        "*/20 0-5 * * *",
        "2024-03-10T06:30Z",
        {
            "fire_once": ["03-10T06:40", "03-10T07:00", "03-10T07:20"],
            "skip": ["03-10T06:40", "03-10T07:00", "03-10T07:20"],
            "fire_all": ["03-10T06:40", *["03-10T07:00"] * 4, "03-10T07:20"],
        },
    ),
]


@pytest.mark.parametrize(("rule", "after", "expected"), CASES)
def test_gaps_become_jobs_by_the_misfire_policy(
    rule: str, after: str, expected: dict[str, list[str]]
) -> None:
    numbers = itertools.count(1)
    begins = int(datetime.fromisoformat(after).timestamp())
    for misfire, instants in expected.items():
        spec = Spec(
            times=Definition(when=(rule,), zone="America/New_York"),
            work=Work(kind="k"),
            policies=msgspec.convert({"misfire": misfire, "overlap": "allow"}, Policies),
        )
        standing = Standing(
            id=bytes(16),
            tenant="default",
            name="s",
            state=ScheduleState.ACTIVE,
            version=1,
            spec=spec_text(spec),
            cursor=Cursor(begins),
            zones=202606,
            now_ms=begins * 1000,
        )
        found: list[str] = []
        while len(found) < len(instants):
            ruling = advance(standing, lambda: next(numbers).to_bytes(16))
            found += [
                f"{fire.job.nominal_at:%m-%dT%H:%M}"
                for fire in ruling.fires
                if fire.job is not None
            ]
            standing = msgspec.structs.replace(
                standing, cursor=ruling.cursor, now_ms=ruling.look_at_ms
            )
        assert found[: len(instants)] == instants
