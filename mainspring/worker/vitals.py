"""Vital signs of a child: a page of memory shared with its keeper, read without any cooperation.

Three aligned doubles, each with one writer: a store of eight aligned bytes is never seen half done.
"""

import math
import mmap
import os
import tempfile
from typing import Final

_PAGE_BYTES: Final = 4096
_LEASE, _TICK, _HARD = range(3)


class Vitals:
    """Seconds of the machine's monotonic clock, which all its processes share."""

    def __init__(self, descriptor: int) -> None:
        """Map the page behind the descriptor (of ``new_page`` or inherited)."""
        self._map = mmap.mmap(descriptor, _PAGE_BYTES)
        self._cells = memoryview(self._map).cast("d")

    @property
    def lease_until(self) -> float:
        """Return when all work must have stopped (written by the keeper)."""
        return self._cells[_LEASE]

    @lease_until.setter
    def lease_until(self, instant: float) -> None:
        self._cells[_LEASE] = instant

    @property
    def ticked_at(self) -> float:
        """Return when the child's loop last turned (written by the child)."""
        return self._cells[_TICK]

    @ticked_at.setter
    def ticked_at(self, instant: float) -> None:
        self._cells[_TICK] = instant

    @property
    def hard_deadline(self) -> float:
        """Return when the first of the running attempts must be over, grace included."""
        return self._cells[_HARD]

    @hard_deadline.setter
    def hard_deadline(self, instant: float) -> None:
        self._cells[_HARD] = instant

    def close(self) -> None:
        """Unmap the page."""
        self._cells.release()
        self._map.close()


def new_page() -> int:
    """Return the descriptor of a fresh page: no deadline, no lease yet."""
    with tempfile.TemporaryFile() as file:
        file.truncate(_PAGE_BYTES)
        descriptor = os.dup(file.fileno())
    vitals = Vitals(descriptor)
    vitals.hard_deadline = math.inf
    vitals.close()
    return descriptor
