"""The deadlines of running attempts: one heap, one timer, whatever their number.

The first of them is published to the keeper, which acts when the loop no longer can.
"""

import asyncio
import heapq
import math
from collections.abc import Callable

from mainspring.worker.attempt import Attempt
from mainspring.worker.vitals import Vitals


class Deadlines:
    """Calls back for each attempt whose time is over; an attempt may come again (its grace)."""

    def __init__(
        self,
        vitals: Vitals,
        grace_seconds: float,
        on_due: Callable[[Attempt], None],
        monotonic: Callable[[], float],
    ) -> None:
        """Watch nothing yet."""
        self._vitals = vitals
        self._grace_seconds = grace_seconds
        self._on_due = on_due
        self._monotonic = monotonic
        # (instant, tie-breaker, attempt); an entry counts while its instant is the attempt's.
        self._heap: list[tuple[float, int, Attempt]] = []
        self._made = 0
        self._live = 0
        self._timer: asyncio.TimerHandle | None = None
        self._timer_at = math.inf

    def watch(self, attempt: Attempt) -> None:
        """Begin to watch an attempt."""
        self._live += 1
        self._push(attempt)

    def move(self, attempt: Attempt, instant: float) -> None:
        """Give a watched attempt another instant."""
        attempt.wake_at = instant
        self._push(attempt)
        self._settle_top()

    def forget(self, attempt: Attempt) -> None:
        """Stop watching: the attempt is done."""
        self._live -= 1
        heap = self._heap
        if heap and heap[0][2] is attempt:
            self._settle_top()
        elif len(heap) > 2 * self._live + 1_000:
            # Long-lived attempts at the top keep finished ones below from being popped.
            self._heap = [entry for entry in heap if _counts(entry)]
            heapq.heapify(self._heap)

    def close(self) -> None:
        """Stop the timer."""
        if self._timer is not None:
            self._timer.cancel()

    def _push(self, attempt: Attempt) -> None:
        self._made += 1
        heap = self._heap
        heapq.heappush(heap, (attempt.wake_at, self._made, attempt))
        if heap[0][2] is attempt:
            self._settle_top()

    def _settle_top(self) -> None:
        """Drop what no longer counts, publish the first deadline, and set the timer."""
        heap = self._heap
        while heap and not _counts(heap[0]):
            heapq.heappop(heap)
        if not heap:
            # The timer may stay: it finds nothing and ends.
            self._vitals.hard_deadline = math.inf
            return
        instant, _, attempt = heap[0]
        grace = 0.0 if attempt.stop is not None else self._grace_seconds
        self._vitals.hard_deadline = instant + grace
        if instant < self._timer_at:
            self._arm(instant)

    def _arm(self, instant: float) -> None:
        if self._timer is not None:
            self._timer.cancel()
        delay = max(0.0, instant - self._monotonic())
        self._timer_at = instant
        self._timer = asyncio.get_running_loop().call_later(delay, self._ring)

    def _ring(self) -> None:
        self._timer_at = math.inf
        self._timer = None
        now = self._monotonic()
        while self._heap and self._heap[0][0] <= now:
            entry = heapq.heappop(self._heap)
            if _counts(entry):
                entry[2].wake_at = math.inf
                self._on_due(entry[2])
        self._settle_top()


def _counts(entry: tuple[float, int, Attempt]) -> bool:
    return not entry[2].done and entry[2].wake_at == entry[0]
