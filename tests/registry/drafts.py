"""Drafts of schedules and calendars, as tests about them need them."""

from __future__ import annotations

from typing import Any

import msgspec

from mainspring.domain.job import HandlerInfo
from mainspring.domain.schedule import ScheduleView
from mainspring.ports.gateway import Submission
from mainspring.ports.scheduling import CalendarDraft, ScheduleDraft, ScheduleGateway

ADA = "ada"
REPORT = HandlerInfo(
    kind="report",
    queue="reports",
    max_attempts=7,
    schema='{"type":"object","properties":{"day":{"type":"integer"}},"additionalProperties":false}',
)


def draft(name: str = "nightly", when: str = "0 * * * *", **given: Any) -> ScheduleDraft:
    work = {k: given.pop(k) for k in list(given) if k in Submission.__struct_fields__}
    submission = Submission(kind="report", kind_is_known=True, declared=REPORT)
    return ScheduleDraft(
        name=name,
        when=(when,),
        work=msgspec.structs.replace(submission, **work),
        **given,
    )


async def made(schedules: ScheduleGateway, **given: Any) -> ScheduleView:
    return await schedules.create(draft(**given), actor=ADA)


def calendar(*entries: str, name: str = "holidays", **given: Any) -> CalendarDraft:
    return CalendarDraft(name=name, entries=entries, **given)
