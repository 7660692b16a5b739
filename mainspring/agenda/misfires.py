"""What a ruling tells those who want to know of missed fires."""

from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from typing import Final

import msgspec

from mainspring.agenda.spec import read_spec
from mainspring.agenda.standing import Ruling, Standing
from mainspring.domain.ids import show_job
from mainspring.domain.schedule import Cause, FireRow, Outcome
from mainspring.domain.webhooks import Event
from mainspring.policies.listening import Listeners, Subject
from mainspring.policies.notices import Misfire, misfire_notices

_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
_MISSED: Final = frozenset(
    {Outcome.SKIPPED_MISFIRE, Outcome.EXPIRED, Outcome.DROPPED, Outcome.COALESCED}
)
_CAUGHT_UP: Final = "caught_up"


def with_notices(
    standing: Standing, ruling: Ruling, listeners: Listeners, new_id: Callable[[], bytes]
) -> Ruling:
    """Return a ruling that tells of its misfires whoever listens to them."""
    if not ruling.fires or not listeners.have(standing.tenant, Event.SCHEDULE_MISFIRED):
        return ruling
    misfires = list(_misfires(ruling))
    if not misfires:
        return ruling
    work = read_spec(standing.spec).work
    subject = Subject(standing.tenant, work.kind, work.queue, schedule_id=standing.id)
    notices = misfire_notices(listeners, subject, standing.name, misfires, new_id)
    return msgspec.structs.replace(ruling, notices=notices)


def _misfires(ruling: Ruling) -> Iterator[Misfire]:
    for fire in ruling.fires:
        row = fire.row
        if row.outcome in _MISSED:
            yield _misfire(row, row.outcome.value)
        elif row.cause is Cause.CATCH_UP and row.outcome is Outcome.JOB:
            yield _misfire(row, _CAUGHT_UP)


def _misfire(row: FireRow, outcome: str) -> Misfire:
    return Misfire(
        outcome=outcome,
        nominal_at=_instant(row.nominal_at),
        through=None if row.through is None else _instant(row.through),
        count=row.count,
        job_id=None if row.job_id is None else show_job(row.job_id),
    )


def _instant(seconds: float) -> datetime:
    return _EPOCH + timedelta(seconds=seconds)
