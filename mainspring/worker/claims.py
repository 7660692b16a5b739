"""Slots of queues, and what to ask for with them."""

import asyncio
from collections import Counter
from typing import Final

from mainspring.domain.job import Claimed
from mainspring.domain.limits import CLAIM_JOBS_MAX
from mainspring.ports.store import ClaimAsk, Lane
from mainspring.worker.config import HARD_DEADLINE_MARGIN_MS, WorkerConfig

#: A queue with this share of its slots free is worth a claim of its own.
_WORTH_IT: Final = 8


class _Lane:
    """A queue as a child sees it."""

    __slots__ = ("free", "hungry", "name", "slots")

    def __init__(self, name: str, slots: int) -> None:
        self.name = name
        self.slots = slots
        self.free = slots
        #: There may be work that was not asked for yet.
        self.hungry = True


class Slots:
    """Counts free slots per queue and knows which queues may have work."""

    def __init__(self, config: WorkerConfig, kinds: tuple[str, ...]) -> None:
        """All slots are free, and every queue may have work."""
        self._lanes = {name: _Lane(name, slots) for name, slots in config.queues.items()}
        self._kinds = kinds
        self._grace_ms = round(config.grace_seconds * 1_000) + HARD_DEADLINE_MARGIN_MS
        self.total = sum(config.queues.values())
        #: It may be possible to claim more than a moment ago.
        self.changed = asyncio.Event()
        #: No queue is known to have more work.
        self.sated = asyncio.Event()

    def give_back(self, queue: str) -> None:
        """Free the slot of an attempt that is done."""
        lane = self._lanes[queue]
        lane.free += 1
        if lane.hungry:
            self.changed.set()

    def look_again(self) -> None:
        """Say that any queue may have work now."""
        for lane in self._lanes.values():
            lane.hungry = True
        self.sated.clear()
        self.changed.set()

    def quiet(self) -> list[str]:
        """Return the queues that are not known to have more work."""
        return [lane.name for lane in self._lanes.values() if not lane.hungry]

    def wanted(self) -> int:
        """Return how many jobs could be claimed now where there may be some."""
        return sum(lane.free for lane in self._lanes.values() if lane.hungry)

    def is_worth_it(self) -> bool:
        """Tell whether enough slots are free to claim without waiting for more to join."""
        return any(
            lane.hungry and lane.free and lane.free * _WORTH_IT >= lane.slots
            for lane in self._lanes.values()
        )

    def ask(self, worker_id: bytes, child: int) -> ClaimAsk:
        """Return what to claim; the lanes count as asked."""
        lanes = []
        for lane in self._lanes.values():
            if lane.hungry and lane.free:
                lane.hungry = False
                lanes.append(Lane(lane.name, min(lane.free, CLAIM_JOBS_MAX)))
        return ClaimAsk(
            worker_id=worker_id,
            child=child,
            lanes=tuple(lanes),
            kinds=self._kinds,
            limit=min(sum(lane.want for lane in lanes), CLAIM_JOBS_MAX),
            grace_ms=self._grace_ms,
        )

    def take(self, ask: ClaimAsk, claimed: list[Claimed]) -> None:
        """Count what was handed out; a lane that got all it wanted may have more."""
        got = Counter([job.queue for job in claimed])
        is_full = len(claimed) >= ask.limit
        for asked in ask.lanes:
            lane = self._lanes[asked.queue]
            lane.free -= got[asked.queue]
            if is_full or got[asked.queue] >= asked.want:
                lane.hungry = True
        self._settle()

    def ask_again(self, ask: ClaimAsk) -> None:
        """Undo an ask whose answer never came."""
        for asked in ask.lanes:
            self._lanes[asked.queue].hungry = True

    def _settle(self) -> None:
        if all(not lane.hungry for lane in self._lanes.values()):
            self.sated.set()
