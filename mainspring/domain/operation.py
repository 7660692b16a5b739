"""Operations: one action on everything that a search found, which outlives whoever asked for it.

A *member* is a job that the search found, with a mark of how it stood. What "frozen" means:

* A job is a member if it matches the search with all durations counted from ``until``, can be
  changed by the action, and neither came nor moved after ``until``: it was submitted, fell due,
  began, failed and ended then or before. A job that moved while members were being looked for is
  none.
* Members are looked for once, newest first. From then on nothing joins.
* A member is changed if it still stands as it is marked (``Mark``), and left alone otherwise, with
  the reason. Each is decided once, oldest first.
"""

from collections.abc import Mapping
from datetime import datetime, timedelta
from enum import StrEnum
from typing import Final, NamedTuple

import msgspec

from mainspring.domain.errors import InvalidInput
from mainspring.domain.ids import OPERATION, show
from mainspring.domain.job import JobFilter, JobView
from mainspring.domain.limits import OPERATION_JOBS_MAX
from mainspring.domain.names import check_flag, check_note, check_range, check_rate
from mainspring.domain.search import Query, parse
from mainspring.domain.states import FINAL, LIVE, JobState

_DEAD: Final = frozenset({JobState.DEAD})
_WAITING: Final = frozenset({JobState.SCHEDULED, JobState.RETRYING})
#: What each action can change; other jobs that match are left out of it.
ELIGIBLE: Final[Mapping[str, frozenset[JobState]]] = {
    "replay": _DEAD,
    "purge": _DEAD,
    "retry": _WAITING | _DEAD,
    "cancel": LIVE,
}
#: Errors that are kept of an operation; all of them are counted.
ERRORS_KEPT: Final = 10
_TICK: Final = timedelta(microseconds=1)


class OperationState(StrEnum):
    """Where an operation stands. ``done`` and ``aborted`` are final."""

    PREVIEWED = "previewed"
    RUNNING = "running"
    PAUSED = "paused"
    DONE = "done"
    ABORTED = "aborted"
    #: It cannot go on as it is, and says why; it may be resumed.
    FAILED = "failed"


ENDED: Final = frozenset({OperationState.DONE, OperationState.ABORTED})


class Outcome(StrEnum):
    """What became of one member."""

    CHANGED = "changed"
    LEFT_ALONE = "left_alone"
    FAILED = "failed"


class Mark(NamedTuple):
    """How a job stood: whatever happens to it changes one of these."""

    is_final: bool
    attempt: int
    replays: int
    due_at: datetime


class Member(NamedTuple):
    """A job that an operation is about."""

    job_id: bytes
    #: As people saw it.
    state: JobState
    mark: Mark


class MemberView(msgspec.Struct, frozen=True):
    """What became of one member."""

    job_id: bytes
    #: Before.
    state: JobState
    outcome: Outcome
    #: Why it was left alone, or what failed.
    reason: str | None = None


class OperationError(msgspec.Struct, frozen=True):
    """One member that could not be changed."""

    job_id: bytes
    message: str


class OperationOptions(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """How an operation is carried out."""

    #: At most so many members, the oldest.
    limit: int | None = None
    #: At most so many changes a second.
    rate: float | None = None
    #: After so many changes it pauses by itself.
    canary: int | None = None
    #: For ``cancel``.
    reason: str = ""
    force: bool = False
    #: For ``replay``: what replaces the payload, as JSON text.
    payload: str | None = None


def check_options(action: str, options: OperationOptions) -> None:
    """Raise what is wrong with how an action is to be carried out, but for the payload itself."""
    check_rate("rate", options.rate)
    check_note("reason", options.reason)
    check_flag("force", options.force)
    if options.limit is not None:
        check_range("limit", options.limit, 1, OPERATION_JOBS_MAX)
    if options.canary is not None:
        check_range("canary", options.canary, 1, OPERATION_JOBS_MAX)
    for option, only_of in (("payload", "replay"), ("force", "cancel"), ("reason", "cancel")):
        if getattr(options, option) and action != only_of:
            raise InvalidInput(f"{option}: it is for {only_of}, not for {action}")


class OperationProgress(msgspec.Struct, frozen=True, kw_only=True):
    """How far an operation is."""

    #: How many match: an estimate of the preview until the set is frozen.
    matched: int | None = None
    #: There may be more than ``matched``.
    matched_is_least: bool = False
    #: Jobs that were looked at to find members.
    looked_at: int = 0
    changed: int = 0
    left_alone: int = 0
    failed: int = 0
    #: How many of each state before came to each outcome: ``dead``: ``changed``: 17. What was left
    #: alone is counted by its reason: ``left_alone: moved``.
    report: dict[str, dict[str, int]] = {}
    #: The first of them.
    errors: tuple[OperationError, ...] = ()

    @property
    def decided(self) -> int:
        """Return how many members were changed, left alone or failed."""
        return self.changed + self.left_alone + self.failed

    def with_members(self, members: "list[MemberView]") -> "OperationProgress":
        """Return it after these were decided as well."""
        counts = dict.fromkeys(Outcome, 0)
        report = {state: dict(outcomes) for state, outcomes in self.report.items()}
        errors = list(self.errors)
        for member in members:
            counts[member.outcome] += 1
            is_left = member.outcome is Outcome.LEFT_ALONE
            told = f"{member.outcome}: {member.reason}" if is_left else member.outcome.value
            split = report.setdefault(member.state.value, {})
            split[told] = split.get(told, 0) + 1
            if member.outcome is Outcome.FAILED and len(errors) < ERRORS_KEPT:
                errors.append(OperationError(member.job_id, member.reason or ""))
        return msgspec.structs.replace(
            self,
            changed=self.changed + counts[Outcome.CHANGED],
            left_alone=self.left_alone + counts[Outcome.LEFT_ALONE],
            failed=self.failed + counts[Outcome.FAILED],
            report=report,
            errors=tuple(errors),
        )


class OperationView(msgspec.Struct, frozen=True, kw_only=True):
    """An operation as it is now."""

    id: bytes
    #: ``None``: of the whole installation.
    tenant: str | None
    action: str
    #: The search as it was understood.
    query: str
    until: datetime
    options: OperationOptions
    state: OperationState
    #: Why it is paused, was aborted or failed.
    reason: str = ""
    progress: OperationProgress
    #: Every member is known.
    is_frozen: bool = False
    #: Down to here members were looked for; once they are known: up to here they were decided.
    cursor: bytes | None = None
    #: Grows with everything that people change.
    version: int = 1
    created_at: datetime
    created_by: str
    started_at: datetime | None = None
    ended_at: datetime | None = None
    #: When somebody last turned it, and who.
    turned_at: datetime
    turned_by: str
    #: Its rate allows no change before.
    next_at: datetime | None = None

    @property
    def operation_id(self) -> str:
        """Return the id as people see it: ``op_…``."""
        return show(OPERATION, self.id)

    @property
    def has_ended(self) -> bool:
        """Tell whether it does nothing more, whatever is said to it."""
        return self.state in ENDED

    @property
    def goal(self) -> int | None:
        """Return how many members it will decide, as far as that is known."""
        matched, limit = self.progress.matched, self.options.limit
        if matched is None or limit is None:
            return matched
        return min(matched, limit)

    def room(self, most: int) -> int:
        """Return how many members the next batch may have."""
        options, progress = self.options, self.progress
        if options.rate is not None:
            most = max(1, min(most, int(options.rate)))
        if options.canary is not None and progress.changed < options.canary:
            most = min(most, options.canary - progress.changed)
        if options.limit is not None:
            most = min(most, options.limit - progress.decided)
        return most

    def after_freezing(
        self, looked_at: int, found: int, cursor: bytes | None, most: int
    ) -> "OperationView":
        """Return it after a page of jobs was looked at; no cursor: the last one."""
        known = self.progress.matched or 0 if self.cursor is not None else 0
        matched = known + found
        is_frozen = cursor is None or matched >= most
        progress = msgspec.structs.replace(
            self.progress,
            looked_at=self.progress.looked_at + looked_at,
            matched=matched,
            matched_is_least=cursor is not None,
        )
        cursor = None if is_frozen else cursor
        return msgspec.structs.replace(self, progress=progress, is_frozen=is_frozen, cursor=cursor)

    def after_batch(
        self, members: list[MemberView], *, is_last: bool, now: datetime
    ) -> "OperationView":
        """Return it after a batch of members was decided."""
        options = self.options
        progress = self.progress.with_members(members)
        view = msgspec.structs.replace(
            self, progress=progress, cursor=members[-1].job_id if members else self.cursor
        )
        if options.rate is not None:
            changes = progress.changed - self.progress.changed
            next_at = now + timedelta(seconds=changes / options.rate)
            view = msgspec.structs.replace(view, next_at=next_at)
        if is_last or (options.limit is not None and progress.decided >= options.limit):
            return msgspec.structs.replace(
                view, state=OperationState.DONE, ended_at=now, next_at=None
            )
        canary = options.canary
        if canary is not None and self.progress.changed < canary <= progress.changed:
            reason = f"canary: {progress.changed} changed; resume it to go on with the others"
            return msgspec.structs.replace(view, state=OperationState.PAUSED, reason=reason)
        return view


class Selection:
    """Which jobs an operation means: what a store looks for, and what it has to be besides."""

    def __init__(
        self, action: str, query: Query | str, until: datetime, tenant: str | None
    ) -> None:
        """Understand the search; raise ``InvalidQuery`` if this code does not."""
        self._query: Final = parse(query, until) if isinstance(query, str) else query
        self._until: Final = until
        self._tenant: Final = tenant
        pushdown = self._query.pushdown()
        eligible = ELIGIBLE[action]
        self.states: Final = pushdown.states & eligible if pushdown.states else eligible
        after = until + _TICK
        self.filter: Final[JobFilter] = msgspec.structs.replace(
            pushdown,
            states=self.states,
            tenant=pushdown.tenant if tenant is None else tenant,
            created_before=min(pushdown.created_before or after, after),
        )

    @property
    def is_empty(self) -> bool:
        """Tell whether it is certain that no job is meant."""
        return self._query.is_impossible or not self.states

    def admits(self, job: JobView) -> bool:
        """Tell whether a job is meant, as far as its row says."""
        if job.state not in self.states or self._tenant not in (None, job.tenant):
            return False
        return not has_moved(job, self._until) and self._query.matches(job)


def has_moved(job: JobView, until: datetime) -> bool:
    """Tell whether a job came or moved after an instant, as far as its row says."""
    instants = [job.created_at, job.started_at, job.finished_at]
    if job.state is JobState.READY:
        # It fell due, was run now or was replayed.
        instants.append(job.due_at)
    return any(each is not None and each > until for each in instants)


def member_of(job: JobView) -> Member:
    """Return a job as a member, marked as it stands."""
    mark = Mark(job.state in FINAL, job.attempt, job.replays, job.due_at)
    return Member(job.id, job.state, mark)
