"""Sessions of workers that have none: each claim that brings something has its own lease.

A claim that brings nothing leaves its session for the next one of the same worker, so that polling
makes no rows. A session whose attempts have all been reported is closed; one whose worker says
nothing more ends with its lease, and its attempts go to others.
"""

from collections.abc import Sequence
from typing import Final

import msgspec

from mainspring.domain.errors import SessionLost
from mainspring.domain.job import Claimed, HandlerInfo, NewSession
from mainspring.ports.store import ClaimAsk, Lane
from mainspring.server.grpc.calls import Caller

#: Idle sessions, and attempts, that are remembered; what is forgotten is found in the store.
_REMEMBERED_MAX: Final = 10_000
_VERSION: Final = "database.scheduler.v1"
_HOST: Final = "grpc"

Fence = tuple[bytes, int]


class Wanted(msgspec.Struct, frozen=True, kw_only=True):
    """What a worker without a session asks for."""

    name: str
    lease_ms: int
    queues: tuple[str, ...]
    kinds: tuple[str, ...]
    #: Of the kinds, those that nobody has declared.
    declared: tuple[HandlerInfo, ...]
    limit: int

    def session(self, worker_id: bytes) -> NewSession:
        """Return the session that holds what it gets."""
        return NewSession(
            id=worker_id,
            name=self.name,
            host=_HOST,
            pid=0,
            version=_VERSION,
            queues=dict.fromkeys(self.queues, self.limit),
            kinds=self.kinds,
            lease_ms=self.lease_ms,
        )


class Anonymous:
    """Claims for workers without a session, and finds the sessions of their attempts again."""

    def __init__(self) -> None:
        """Begin without any."""
        self._idle: dict[tuple[str | None, str], bytes] = {}
        self._session_of: dict[Fence, bytes] = {}
        self._open: dict[bytes, int] = {}

    async def claim(self, caller: Caller, wanted: Wanted) -> list[Claimed]:
        """Claim what is due of it; hold that for the lease, and for nothing longer."""
        key = (caller.principal.tenant, wanted.name)
        worker_id = self._idle.pop(key, None) or caller.backroom.new_worker_id()
        try:
            await caller.seat(worker_id).open_session(wanted.session(worker_id), wanted.declared)
        except SessionLost:
            await caller.leave(worker_id)
            worker_id = caller.backroom.new_worker_id()
            await caller.seat(worker_id).open_session(wanted.session(worker_id), wanted.declared)
        ask = ClaimAsk(
            worker_id=worker_id,
            child=0,
            lanes=tuple(Lane(queue, wanted.limit) for queue in wanted.queues),
            kinds=wanted.kinds,
            limit=wanted.limit,
        )
        claimed = await caller.seat(worker_id).claim(ask)
        if claimed:
            self._note(worker_id, claimed)
        else:
            while len(self._idle) >= _REMEMBERED_MAX:
                del self._idle[next(iter(self._idle))]
            self._idle[key] = worker_id
        return claimed

    async def session_of(self, caller: Caller, fence: Fence) -> bytes | None:
        """Return the session that an attempt was claimed in; nothing when there is no such."""
        found = self._session_of.get(fence)
        if found is not None:
            return found
        for attempt in await caller.desk.list_attempts(fence[0]):
            if attempt.attempt == fence[1]:
                return attempt.worker_id
        return None

    async def ended(self, caller: Caller, worker_id: bytes, fence: Fence) -> None:
        """Close the session with its last attempt."""
        if self._session_of.pop(fence, None) is None:
            return
        left = self._open.get(worker_id, 0) - 1
        if left > 0:
            self._open[worker_id] = left
        elif self._open.pop(worker_id, None) is not None:
            await caller.seat(worker_id).close_session(worker_id)
            await caller.leave(worker_id)

    def _note(self, worker_id: bytes, claimed: Sequence[Claimed]) -> None:
        for job in claimed:
            while len(self._session_of) >= _REMEMBERED_MAX:
                forgotten = next(iter(self._session_of))
                holder = self._session_of.pop(forgotten)
                self._open.pop(holder, None)
            self._session_of[job.job_id, job.attempt] = worker_id
        self._open[worker_id] = len(claimed)
