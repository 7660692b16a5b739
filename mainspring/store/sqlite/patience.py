"""Waits for other processes that write the same file, within a bound."""

from collections.abc import Callable
from typing import Final, TypeVar

from mainspring.ports import entropy
from mainspring.ports.clock import monotonic, wait_seconds
from mainspring.store.sqlite.failures import is_busy

T = TypeVar("T")

_FIRST_WAIT_SECONDS: Final = 0.000_2
_LONGEST_WAIT_SECONDS: Final = 0.005


def insist(action: Callable[[], T], busy_timeout_ms: int) -> T:
    """Repeat an action while the database is busy, at most this long.

    Not SQLite's own waiting: it sleeps up to 100 ms at a time, and who sleeps longest starves.
    """
    deadline = monotonic() + busy_timeout_ms / 1_000
    wait = _FIRST_WAIT_SECONDS
    while True:
        try:
            return action()
        except Exception as error:
            if not is_busy(error) or monotonic() >= deadline:
                raise
        wait_seconds(wait * (0.5 + entropy.roll()))
        wait = min(wait * 2, _LONGEST_WAIT_SECONDS)
