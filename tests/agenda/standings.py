"""Standings as a store would hand them over, for tests of one ruling."""

from __future__ import annotations

import itertools
from datetime import datetime
from typing import TYPE_CHECKING

import msgspec

from mainspring.agenda.spec import Spec, Work, calendars_text, spec_text
from mainspring.agenda.standing import Cursor, Live, Standing
from mainspring.domain.schedule import ScheduleState
from mainspring.domain.states import JobState
from mainspring.policies.firing import Policies
from mainspring.timetable.definition import CalendarDefinition, Definition, Heeds

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from mainspring.agenda.standing import Ruling

SCHEDULE = bytes(14) + b"\x12\x34"
JOB = b"j" * 16
MINUTE = 60
HOUR = 3600
DAY = 86_400


def at(text: str) -> int:
    """Return an instant as seconds."""
    return int(datetime.fromisoformat(text).timestamp())


#: A Thursday.
NOON = at("2027-01-14T12:00Z")


def ids() -> Callable[[], bytes]:
    """Return a maker of ids that are all different."""
    numbers = itertools.count(1)
    return lambda: next(numbers).to_bytes(16)


def spec_of(*when: str, times: Mapping[str, object] | None = None, **policies: object) -> bytes:
    """Return the text of a spec with these rules, other times and policies."""
    definition = msgspec.convert({"when": when or ("0 * * * *",), **(times or {})}, Definition)
    return spec_text(
        Spec(
            times=definition,
            work=Work(kind="k"),
            policies=msgspec.convert(policies, Policies),
        )
    )


def standing_of(spec: bytes, now: float, **given: object) -> Standing:
    """Return an active schedule; ``through``: its cursor stands there, else just before now."""
    through = given.pop("through", int(now) - 1)
    assert isinstance(through, int)
    standing = Standing(
        id=SCHEDULE,
        tenant="default",
        name="s",
        state=ScheduleState.ACTIVE,
        version=1,
        spec=spec,
        cursor=Cursor(through),
        zones=202_606,
        now_ms=round(now * 1000),
    )
    return msgspec.structs.replace(standing, **given)


def live(due: float, state: JobState = JobState.RUNNING) -> Live:
    """Return the live job of a schedule."""
    return Live(JOB, state, round(due * 1000))


def blackout(*entries: str) -> tuple[dict[str, object], bytes | None]:
    """Return times that leave out a calendar of these entries, and the text of it."""
    kept = calendars_text([CalendarDefinition(name="out", entries=entries)])
    return {"calendars": (Heeds("out"),)}, kept


def rows_of(ruling: Ruling) -> list[tuple[float, int, str]]:
    """Return instant, sequence and outcome of each row that a ruling writes."""
    return [
        (fire.row.nominal_at, fire.row.sequence, fire.row.outcome.value) for fire in ruling.fires
    ]


def jobs_of(ruling: Ruling) -> list[float]:
    """Return the nominal instants that a ruling makes jobs of."""
    return [fire.row.nominal_at for fire in ruling.fires if fire.job is not None]
