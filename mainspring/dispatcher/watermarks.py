"""Where a claim may begin to look, so that dead index entries behind it cost nothing.

When a transaction is held open elsewhere, the index entries of claimed rows cannot be removed, and
a claim that starts at the head of the queue walks over all of them (measured elsewhere: 64,000 to
4,600 jobs/s within a minute). So each claimer remembers, for each queue and priority, up to which
due instant it has seen nothing left, and starts a little before that. A transaction that commits
late inserts behind the watermark; the margin covers the usual delay, the sweep every other.
"""

from collections.abc import Callable, Sequence
from datetime import datetime, timedelta
from typing import Final

import msgspec

from mainspring.domain.job import Claimed, Priority
from mainspring.ports.store import Lane

SWEEP_SECONDS: Final = 1.0
MARGIN: Final = timedelta(milliseconds=500)


class Watermarks:
    """The low watermarks of one claimer. Lost with its process, which costs one full scan."""

    def __init__(self, monotonic: Callable[[], float]) -> None:
        """Begin without any, so the first claim sees everything."""
        self._monotonic = monotonic
        self._low: dict[str, dict[int, datetime]] = {}
        self._swept_at = float("-inf")

    def apply(self, lanes: Sequence[Lane]) -> tuple[Lane, ...]:
        """Return the lanes with their watermarks; now and then without, to sweep everything."""
        now = self._monotonic()
        if now - self._swept_at >= SWEEP_SECONDS:
            self._swept_at = now
            return tuple(lanes)
        return tuple(
            msgspec.structs.replace(lane, since=dict(self._low.get(lane.queue, {})))
            for lane in lanes
        )

    def forget(self) -> None:
        """Let the next claim look everywhere."""
        self._swept_at = float("-inf")

    def learn(self, lanes: Sequence[Lane], claimed: Sequence[Claimed]) -> None:
        """Move the watermarks by what a claim brought."""
        if not claimed:
            return
        seen_until = claimed[0].started_at - MARGIN
        for lane in lanes:
            got = [job for job in claimed if job.queue == lane.queue]
            low = self._low.setdefault(lane.queue, {})
            if not got:
                continue
            last = max(job.priority for job in got)
            for level in Priority:
                if level < last:
                    # Strict priority: a lower level was reached, so this one had nothing left.
                    low[level] = seen_until
            newest = max(job.due_at for job in got if job.priority == last)
            low[last] = min(_a_little_before(newest), seen_until)


def _a_little_before(instant: datetime) -> datetime:
    try:
        return instant - MARGIN
    except OverflowError:
        # Somebody has asked for the first moment of the calendar.
        return instant
