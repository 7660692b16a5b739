"""Searches on a store: pages of what matches, and operations on all of it.

The store answers what it can look for; the rest is judged here, a bounded number of jobs at a time.
"""

from collections.abc import AsyncIterator, Sequence
from datetime import datetime, timedelta
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
from mainspring.domain.names import check_choice, check_range
from mainspring.domain.search import Query, parse
from mainspring.domain.states import LIVE, JobState
from mainspring.ports.clock import pause_seconds
from mainspring.ports.gateway import Bulk, Operation
from mainspring.ports.store import CancelResult, QueryStore

_SAMPLE_JOBS: Final = 5
_TICK: Final = timedelta(microseconds=1)
_DEAD: Final = frozenset({JobState.DEAD})
_WAITING: Final = frozenset({JobState.SCHEDULED, JobState.RETRYING})
#: What each action can change; other jobs that match are left out of it.
ELIGIBLE: Final = {
    "replay": _DEAD,
    "purge": _DEAD,
    "retry": _WAITING | _DEAD,
    "cancel": LIVE,
}


class Hands(Protocol):
    """What an operation is done with: the desk's own actions on a few jobs."""

    async def cancel(
        self, job_ids: Sequence[bytes], *, reason: str = "", force: bool = False, actor: str
    ) -> list[CancelResult]:
        """Cancel jobs."""
        ...

    async def run_now(self, job_ids: Sequence[bytes], *, actor: str) -> list[bytes]:
        """Make waiting jobs due now."""
        ...

    async def replay(
        self, job_ids: Sequence[bytes], *, payload: bytes | None = None, actor: str
    ) -> list[bytes]:
        """Bring dead letters back."""
        ...

    async def purge(self, job_ids: Sequence[bytes], *, actor: str) -> int:
        """Delete dead letters for good."""
        ...


async def find(store: QueryStore, text: str, *, limit: int, before: bytes | None) -> Page:
    """Return jobs that match, newest first.

    After ``find_jobs_max`` jobs that were looked at the page ends, full or not; its cursor goes on.
    """
    query = parse(text, await store.now())
    items: list[JobView] = []
    scanned = 0
    last: bytes | None = None
    async for job in _scan(store, query, query.pushdown(), before):
        if len(items) == limit or scanned == FIND_JOBS_MAX:
            return Page(tuple(items), last)
        scanned += 1
        last = job.id
        if query.matches(job):
            items.append(job)
    return Page(tuple(items), None)


async def operate(
    store: QueryStore, hands: Hands, wanted: Bulk, *, dry_run: bool, actor: str
) -> Operation:
    """Say what an operation would change, and unless it is a dry run change it, oldest first."""
    action = check_choice("action", wanted.action, tuple(ELIGIBLE))
    check_range("limit", wanted.limit, 1, BULK_JOBS_MAX)
    if wanted.rate is not None and not 0 < wanted.rate < float("inf"):
        raise InvalidInput(f"rate: {wanted.rate!r} is not more than zero jobs a second")
    if not wanted.query.strip():
        # What a list may mean by it, everything, would be an accident here.
        raise InvalidInput("query: it is empty", hint="name what is meant: state:dead, kind:charge")
    now = await store.now()
    query = parse(wanted.query, now)
    until = wanted.until or now
    found, capped = await _frozen(store, query, action, until, wanted.limit)
    states: dict[JobState, int] = {}
    for _, state in found.jobs:
        states[state] = states.get(state, 0) + 1
    operation = Operation(
        action=action,
        query=str(query),
        until=until,
        matched=len(found.jobs),
        capped=capped,
        states=states,
        sample=tuple(found.sample),
    )
    if dry_run:
        return operation
    changed = await _carry_out(store, hands, found.jobs[::-1], wanted, actor)
    return msgspec.structs.replace(operation, changed=tuple(changed), dry_run=False)


class _Found:
    """What an operation is about: ids with states, newest first, and the first few whole."""

    def __init__(self) -> None:
        self.jobs: list[tuple[bytes, JobState]] = []
        self.sample: list[JobView] = []

    def take(self, job: JobView) -> None:
        self.jobs.append((job.id, job.state))
        if len(self.sample) < _SAMPLE_JOBS:
            self.sample.append(job)


async def _frozen(
    store: QueryStore, query: Query, action: str, until: datetime, limit: int
) -> tuple[_Found, bool]:
    """Return what matched at an instant and can be changed, and whether there may be more."""
    found = _Found()
    eligible = ELIGIBLE[action]
    pushdown = query.pushdown()
    states = pushdown.states & eligible if pushdown.states else eligible
    if not states:
        return found, False
    after = until + _TICK
    narrowed = msgspec.structs.replace(
        pushdown,
        states=states,
        created_before=min(pushdown.created_before or after, after),
    )
    scanned = 0
    async for job in _scan(store, query, narrowed, None):
        if scanned == BULK_SCAN_JOBS_MAX:
            return found, True
        scanned += 1
        is_later = job.finished_at is not None and job.finished_at > until
        if job.state not in states or is_later or not query.matches(job):
            continue
        if len(found.jobs) == limit:
            return found, True
        found.take(job)
    return found, False


async def _carry_out(
    store: QueryStore,
    hands: Hands,
    jobs: Sequence[tuple[bytes, JobState]],
    wanted: Bulk,
    actor: str,
) -> list[bytes]:
    """Change jobs in batches, no faster than asked."""
    size = PAGE_ITEMS_MAX
    if wanted.rate is not None:
        size = max(1, min(size, int(wanted.rate)))
    changed: list[bytes] = []
    for begin in range(0, len(jobs), size):
        if begin and wanted.rate is not None:
            await pause_seconds(size / wanted.rate)
        changed += await _change(store, hands, jobs[begin : begin + size], wanted, actor)
    return changed


async def _change(
    store: QueryStore,
    hands: Hands,
    jobs: Sequence[tuple[bytes, JobState]],
    wanted: Bulk,
    actor: str,
) -> list[bytes]:
    ids = [job_id for job_id, _ in jobs]
    if wanted.action == "cancel":
        results = await hands.cancel(ids, reason=wanted.reason, force=wanted.force, actor=actor)
        return [result.job_id for result in results if result.changed]
    if wanted.action == "purge":
        await hands.purge(ids, actor=actor)
        left = await store.get_states(ids)
        return [job_id for job_id in ids if job_id not in left]
    dead = [job_id for job_id, state in jobs if state is JobState.DEAD]
    waiting = [job_id for job_id, state in jobs if state is not JobState.DEAD]
    done = set(await hands.run_now(waiting, actor=actor)) if waiting else set()
    done |= set(await hands.replay(dead, actor=actor)) if dead else set()
    return [job_id for job_id in ids if job_id in done]


async def _scan(
    store: QueryStore, query: Query, wanted: JobFilter, before: bytes | None
) -> AsyncIterator[JobView]:
    """Yield what the store finds, newest first, a page at a time."""
    if query.is_impossible:
        return
    while True:
        page = await store.list_jobs(wanted, limit=PAGE_ITEMS_MAX, before=before)
        for job in page.items:
            yield job
        before = page.next_before
        if before is None:
            return
