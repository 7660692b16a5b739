"""Carries operations on: one page of looking, or one batch of changes, a step.

Any number of nodes may do so at once; the store hands each step of an operation to one of them.
"""

import logging
from typing import Final, Protocol

from mainspring.domain.errors import ConnectionFailed, MainspringError, OutcomeUnknown
from mainspring.domain.ids import OPERATION, show
from mainspring.domain.limits import OPERATION_JOBS_MAX, PAGE_ITEMS_MAX
from mainspring.domain.operation import OperationState
from mainspring.ports.blobs import BlobStore
from mainspring.ports.clock import monotonic
from mainspring.ports.operations import TOPIC, Acts, OperationStore
from mainspring.ports.store import Wakeups

#: Hints that there may be something to do.
TOPICS: Final = frozenset({TOPIC})
#: Jobs changed in one transaction: what a pause, and a claim of one of them, waits for at most.
_BATCH_JOBS: Final = 200
_PICKED_MAX: Final = 20
#: Hints may be lost: so often it is looked without one.
_IDLE_SECONDS: Final = 10.0
_BUSY_SECONDS: Final = 0.05
#: So much of the time a store is left to others, in steps of the time that a step took.
_RESTS_A_STEP: Final = 0.5
#: What is not the operation's fault.
_PASSING: Final = (ConnectionFailed, OutcomeUnknown)
_ACTOR: Final = "mainspring"
_log: Final = logging.getLogger("mainspring.maintenance")


class CarryingStore(OperationStore, Protocol):
    """The part of a store that operations are carried on with."""

    @property
    def wakeups(self) -> Wakeups:
        """Return the hints of this store."""
        ...


class Carrying:
    """The role that carries operations on."""

    def __init__(
        self,
        store: CarryingStore,
        *,
        blobs: BlobStore | None,
        batch_jobs: int = _BATCH_JOBS,
    ) -> None:
        """Work in batches; objects that nobody names any more are deleted from ``blobs``."""
        self._store = store
        self._blobs = blobs
        self._batch_jobs = batch_jobs
        #: Operations of which a batch failed: their members are tried one by one until that is by.
        self._one_by_one: dict[bytes, int] = {}

    async def step(self) -> float:
        """Take the operation that waited longest one step further; return when to come back."""
        picked = await self._store.pick_operations(_PICKED_MAX)
        for operation_id in picked.ids:
            begun = monotonic()
            if await self._advance(operation_id):
                return (monotonic() - begun) * _RESTS_A_STEP
        if picked.ids:
            # Other nodes are at all of them.
            return _BUSY_SECONDS
        return _IDLE_SECONDS if picked.wait_ms is None else min(_IDLE_SECONDS, picked.wait_ms / 1e3)

    async def _advance(self, operation_id: bytes) -> bool:
        """Take one operation a step further; False: another node is at it."""
        try:
            view = await self._store.freeze_members(
                operation_id, looks=PAGE_ITEMS_MAX, most=OPERATION_JOBS_MAX
            )
        except _PASSING:
            raise
        except MainspringError as error:
            await self._fail(operation_id, str(error))
            return True
        if view is None:
            return False
        # Also true of one that this very step froze: then it goes on to the first batch at once.
        return await self._change(operation_id) if view.is_frozen else True

    async def _change(self, operation_id: bytes) -> bool:
        left = self._one_by_one.get(operation_id, 0)
        try:
            stepped = await self._store.act_on_members(
                operation_id, limit=1 if left else self._batch_jobs
            )
        except _PASSING:
            raise
        except MainspringError as error:
            if not left:
                # Whose fault is it? The others of the batch must not suffer for it.
                self._one_by_one[operation_id] = self._batch_jobs
                return True
            stepped = await self._store.act_on_members(operation_id, limit=1, refusal=str(error))
        if left > 1:
            self._one_by_one[operation_id] = left - 1
        else:
            self._one_by_one.pop(operation_id, None)
        if stepped is None:
            return False
        await self._tell(stepped.acts)
        if stepped.view.state is not OperationState.RUNNING:
            self._store.wakeups.announce(TOPICS)
            _log.info("%s is %s", stepped.view.operation_id, stepped.view.state)
        return True

    async def _tell(self, acts: Acts) -> None:
        if acts.topics:
            self._store.wakeups.announce(acts.topics)
        if acts.references and self._blobs is not None:
            await self._blobs.delete(list(acts.references))

    async def _fail(self, operation_id: bytes, reason: str) -> None:
        """Let it rest, and say why: others must not wait behind it."""
        _log.warning("%s failed: %s", show(OPERATION, operation_id), reason)
        await self._store.turn_operation(
            operation_id,
            OperationState.FAILED,
            since=frozenset({OperationState.RUNNING}),
            reason=reason,
            actor=_ACTOR,
        )
        self._store.wakeups.announce(TOPICS)
