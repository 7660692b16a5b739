"""Which jobs are meant: the parameters of lists, and the bodies of what is done with matches."""

from collections.abc import Iterable
from datetime import datetime
from typing import Annotated

import msgspec

from mainspring.domain.errors import InvalidId, UnknownOption
from mainspring.domain.ids import JOB, parse_job, show
from mainspring.domain.job import JobFilter
from mainspring.domain.names import suggestion
from mainspring.domain.states import STATE_WORDS, JobState

#: An instant with its zone: ``2027-01-31T09:00:00Z``.
Instant = Annotated[datetime, msgspec.Meta(tz=True)]


class FilterMembers(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What jobs can be chosen by. Windows begin at their first instant and end before their last.

    A window of ends is about jobs that have ended alone.
    """

    kind: list[str] = []
    queue: list[str] = []
    tenant: str | None = None
    #: Groups of failures, as ``group`` of a job names them.
    group: list[str] = []
    created_after: Instant | None = None
    created_before: Instant | None = None
    finished_after: Instant | None = None
    finished_before: Instant | None = None
    #: Ids are ordered by the time at which they were made.
    id_from: str | None = None
    id_before: str | None = None


def job_filter(
    given: FilterMembers, tenant: str | None, states: frozenset[JobState] = frozenset()
) -> JobFilter:
    """Return which jobs are meant; whose they may be was decided before."""
    return JobFilter(
        states=states,
        kinds=frozenset(given.kind),
        queues=frozenset(given.queue),
        tenant=tenant,
        finished_after=given.finished_after,
        finished_before=given.finished_before,
        created_after=given.created_after,
        created_before=given.created_before,
        groups=frozenset(given.group),
        id_from=_id("id_from", given.id_from),
        id_before=_id("id_before", given.id_before),
    )


def _id(option: str, text: str | None) -> bytes | None:
    if text is None:
        return None
    try:
        return parse_job(text)
    except InvalidId as error:
        error.message = f"{option}: {error.message}"
        raise


def filter_members(wanted: JobFilter) -> dict[str, object]:
    """Return the members that say a filter but for its states; what says nothing is left out."""
    members: dict[str, object] = {
        "kind": sorted(wanted.kinds),
        "queue": sorted(wanted.queues),
        "tenant": wanted.tenant,
        "group": sorted(wanted.groups),
        "created_after": wanted.created_after,
        "created_before": wanted.created_before,
        "finished_after": wanted.finished_after,
        "finished_before": wanted.finished_before,
        "id_from": None if wanted.id_from is None else show(JOB, wanted.id_from),
        "id_before": None if wanted.id_before is None else show(JOB, wanted.id_before),
    }
    return {name: value for name, value in members.items() if value is not None and value != []}


def states_of(words: Iterable[str]) -> frozenset[JobState]:
    """Return the states that words mean, in whatever case; some words mean several."""
    found: set[JobState] = set()
    for word in words:
        states = STATE_WORDS.get(word.lower())
        if states is None:
            raise UnknownOption(
                f"state: there is no {word[:80]!r}",
                hint=suggestion(word.lower()[:80], STATE_WORDS),
            )
        found |= states
    return frozenset(found)
