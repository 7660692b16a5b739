"""Waiting for the ends of jobs: by hints, and by looking now and then where none come."""

from collections.abc import Sequence
from typing import Final, Protocol

from mainspring.domain.errors import NotFound
from mainspring.domain.ids import show_job
from mainspring.domain.limits import PAGE_ITEMS_MAX
from mainspring.domain.states import FINAL
from mainspring.ports.clock import monotonic, pause_seconds
from mainspring.ports.store import QueryStore, Wakeups

FIRST_POLL_SECONDS: Final = 0.02
POLL_SECONDS: Final = 0.5
#: Under load something ends all the time; nobody looks more often than this.
HINT_REST_SECONDS: Final = 0.01


class WatchedStore(QueryStore, Protocol):
    """The part of a store that waiting needs."""

    @property
    def wakeups(self) -> Wakeups:
        """Return the hints of this store."""
        ...


async def for_ends(
    store: WatchedStore, job_ids: Sequence[bytes], timeout_seconds: float
) -> list[bytes]:
    """Return those that have ended, as soon as there are any."""
    until = monotonic() + timeout_seconds
    rest = FIRST_POLL_SECONDS
    subscription = store.wakeups.subscribe({"done"})
    try:
        while True:
            ended = await ended_of(store, job_ids)
            left = until - monotonic()
            if ended or left <= 0:
                return ended
            if await subscription.wait(min(left, rest)):
                await pause_seconds(HINT_REST_SECONDS)
            rest = min(rest * 2, POLL_SECONDS)
    finally:
        subscription.close()


async def ended_of(store: WatchedStore, job_ids: Sequence[bytes]) -> list[bytes]:
    """Return those that have ended; raise ``NotFound`` when one of them does not exist."""
    found: list[bytes] = []
    for start in range(0, len(job_ids), PAGE_ITEMS_MAX):
        part = job_ids[start : start + PAGE_ITEMS_MAX]
        states = await store.get_states(part)
        for job_id in part:
            if job_id not in states:
                raise NotFound(f"there is no job {show_job(job_id)}")
        found += [job_id for job_id in part if states[job_id] in FINAL]
    return found
