"""Searches on a store: pages of what matches, and operations on all of it.

The store answers what it can look for; the rest is judged here, a bounded number of jobs at a time.
"""

from collections import Counter, deque
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from datetime import datetime
from typing import Final, Protocol

import msgspec

from mainspring.domain.errors import InvalidInput
from mainspring.domain.job import JobFilter, JobView, Page
from mainspring.domain.limits import (
    BULK_JOBS_MAX,
    BULK_SCAN_JOBS_MAX,
    FIND_JOBS_MAX,
    PAGE_ITEMS_MAX,
)
from mainspring.domain.names import check_choice, check_range, check_rate
from mainspring.domain.operation import ELIGIBLE, Member, Outcome, Selection, member_of
from mainspring.domain.search import Query, parse
from mainspring.ports.clock import pause_seconds
from mainspring.ports.gateway import Bulk, Operation
from mainspring.ports.operations import Acts, Batch, OperationRecords
from mainspring.ports.store import QueryStore, Wakeups

_SAMPLE_JOBS: Final = 5


class FindingStore(QueryStore, OperationRecords, Protocol):
    """What is looked through, and what changes what is found."""

    @property
    def wakeups(self) -> Wakeups:
        """Return the hints of this store."""
        ...


Tell = Callable[[Acts], Awaitable[None]]


async def find(store: QueryStore, text: str, *, limit: int, before: bytes | None) -> Page:
    """Return jobs that match, newest first.

    After ``find_jobs_max`` jobs that were looked at the page ends, full or not; its cursor goes on.
    """
    query = parse(text, await store.now())
    items: list[JobView] = []
    scanned = 0
    last: bytes | None = None
    async for job in scan(store, query, query.pushdown(), before):
        if len(items) == limit or scanned == FIND_JOBS_MAX:
            return Page(tuple(items), last)
        scanned += 1
        last = job.id
        if query.matches(job):
            items.append(job)
    return Page(tuple(items), None)


async def oldest(store: QueryStore, wanted: JobFilter, limit: int) -> list[bytes]:
    """Return the oldest of the jobs that match, oldest first."""
    # Pages come newest first and the oldest are wanted: walk all, keep the last.
    found: deque[bytes] = deque(maxlen=limit)
    before: bytes | None = None
    while True:
        page = await store.list_jobs(wanted, limit=PAGE_ITEMS_MAX, before=before)
        found.extend(job.id for job in page.items)
        before = page.next_before
        if before is None:
            return list(reversed(found))


async def operate(
    store: FindingStore, tell: Tell, wanted: Bulk, *, dry_run: bool, actor: str
) -> Operation:
    """Say what an operation would change, and unless it is a dry run change it, oldest first.

    ``tell`` is handed each batch that was committed.
    """
    action = check_choice("action", wanted.action, tuple(ELIGIBLE))
    check_range("limit", wanted.limit, 1, BULK_JOBS_MAX)
    check_rate("rate", wanted.rate)
    refuse_everything(wanted.query)
    now = await store.now()
    query = parse(wanted.query, now)
    until = wanted.until or now
    found, capped = await _frozen(store, query, action, until, wanted.limit)
    operation = Operation(
        action=action,
        query=str(query),
        until=until,
        matched=len(found.members),
        capped=capped,
        states=dict(Counter(member.state for member in found.members)),
        sample=tuple(found.sample),
    )
    if dry_run:
        return operation
    changed = await _carry_out(store, tell, found.members[::-1], wanted, actor)
    return msgspec.structs.replace(operation, changed=tuple(changed), dry_run=False)


class _Found:
    """What an operation is about: members, newest first, and the first few whole."""

    def __init__(self) -> None:
        self.members: list[Member] = []
        self.sample: list[JobView] = []

    def take(self, job: JobView) -> None:
        self.members.append(member_of(job))
        if len(self.sample) < _SAMPLE_JOBS:
            self.sample.append(job)


async def _frozen(
    store: QueryStore, query: Query, action: str, until: datetime, limit: int
) -> tuple[_Found, bool]:
    """Return what matched at an instant and can be changed, and whether there may be more."""
    found = _Found()
    selection = Selection(action, query, until, None)
    if selection.is_empty:
        return found, False
    scanned = 0
    async for job in scan(store, query, selection.filter, None):
        if scanned == BULK_SCAN_JOBS_MAX:
            return found, True
        scanned += 1
        if not selection.admits(job):
            continue
        if len(found.members) == limit:
            return found, True
        found.take(job)
    return found, False


async def _carry_out(
    store: OperationRecords, tell: Tell, members: Sequence[Member], wanted: Bulk, actor: str
) -> list[bytes]:
    """Change jobs in batches, no faster than asked."""
    size = PAGE_ITEMS_MAX
    if wanted.rate is not None:
        size = max(1, min(size, int(wanted.rate)))
    changed: list[bytes] = []
    for begin in range(0, len(members), size):
        if begin and wanted.rate is not None:
            await pause_seconds(size / wanted.rate)
        batch = Batch(
            action=wanted.action,
            members=tuple(members[begin : begin + size]),
            reason=wanted.reason,
            force=wanted.force,
        )
        acts = await store.act(batch, actor=actor)
        await tell(acts)
        changed += [each.job_id for each in acts.members if each.outcome is Outcome.CHANGED]
    return changed


def refuse_everything(query: str) -> None:
    """Refuse an empty search: what a list may mean by it would be an accident here."""
    if not query.strip():
        raise InvalidInput("query: it is empty", hint="name what is meant: state:dead, kind:charge")


async def scan(
    store: QueryStore,
    query: Query,
    wanted: JobFilter,
    before: bytes | None,
    *,
    page_items: int | None = None,
) -> AsyncIterator[JobView]:
    """Yield what a store finds, newest first, a page at a time."""
    if query.is_impossible:
        return
    while True:
        page = await store.list_jobs(wanted, limit=page_items or PAGE_ITEMS_MAX, before=before)
        for job in page.items:
            yield job
        before = page.next_before
        if before is None:
            return
