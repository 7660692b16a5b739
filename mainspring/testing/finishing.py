"""``ctx.transaction`` in a test: the transaction is real, the attempt ends in the test's store."""

from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager
from typing import Any, Protocol

from mainspring.app.transaction import Transaction
from mainspring.domain.errors import InvalidInput, LeaseLost
from mainspring.domain.ids import show_attempt
from mainspring.domain.job import Claimed
from mainspring.domain.outcome import Outcome, Succeeded
from mainspring.integrations.borrowed import borrow
from mainspring.testing.lending import is_of_a_driver


class Finishing(Protocol):
    """An attempt that may end in a transaction."""

    claimed: Claimed
    finished: Outcome | None
    #: Ask the store of the test, and tell it.
    is_held: Callable[[], bool]
    settle: Callable[[Outcome], None]

    def encoded(self, result: object) -> bytes | None:
        """Return a result as JSON text."""
        ...


class KitFinisher:
    """A ``Finisher``: checks the lease before the commit, and ends the attempt after it.

    A connection of a driver that is known begins and ends its transaction as in production. What
    stands for one in a test (a fake, a mock) is used as it is.
    """

    def __init__(self, attempt: Finishing) -> None:
        """Finish ``attempt``."""
        self._attempt = attempt

    @contextmanager
    def enter(self, transaction: Transaction[Any]) -> Iterator[None]:
        """Finish on a connection whose calls block."""
        outcome: Succeeded | None = None
        if not self._is_real(transaction):
            yield
            outcome = self._outcome(transaction)
        else:
            with borrow(transaction.connection).transaction():
                yield
                outcome = self._outcome(transaction)
        self._end(outcome)

    @asynccontextmanager
    async def aenter(self, transaction: Transaction[Any]) -> AsyncIterator[None]:
        """Finish on a connection whose calls are awaited."""
        outcome: Succeeded | None = None
        if not self._is_real(transaction):
            yield
            outcome = self._outcome(transaction)
        else:
            async with borrow(transaction.connection).atransaction():
                yield
                outcome = self._outcome(transaction)
        self._end(outcome)

    def _is_real(self, transaction: Transaction[Any]) -> bool:
        if transaction.connection is None:
            raise InvalidInput(
                "ctx.transaction() needs a connection in a test: the store is in memory",
                hint="give a connection to your own database, or anything that stands for one",
            )
        return is_of_a_driver(transaction.connection)

    def _outcome(self, transaction: Transaction[Any]) -> Succeeded:
        """Return how the attempt ends, or undo everything, by raising."""
        outcome = Succeeded(self._attempt.encoded(transaction.result))
        claimed = self._attempt.claimed
        if not self._attempt.is_held():
            shown = show_attempt(claimed.job_id, claimed.attempt)
            raise LeaseLost(f"{shown} no longer holds its job, so the transaction was rolled back")
        return outcome

    def _end(self, outcome: Succeeded | None) -> None:
        # Nothing, where the driver has its own way to roll back without an error.
        if outcome is not None:
            self._attempt.settle(outcome)
            self._attempt.finished = outcome
