"""``job.using(...)`` and ``job.after_commit(...)`` in a test: checked as in production, kept here.

A connection of a driver that is known has to be usable and in a transaction, as it would have to
be for a store on it. What stands for one in a test (a fake, a mock) is taken as it is.
"""

from collections.abc import Sequence
from typing import Any, Final, TypeVar

from mainspring.domain.errors import InvalidInput
from mainspring.integrations.borrowed import borrow
from mainspring.ports.door import Asking, Door
from mainspring.ports.gateway import Accepted, Submission
from mainspring.ports.guest import Borrowed, Queries
from mainspring.runtime.borrowing import Guests
from mainspring.runtime.settings import read_settings

T = TypeVar("T")

_DRIVERS: Final = frozenset(
    {"aiosqlite", "asyncpg", "django", "psycopg", "psycopg2", "sqlalchemy", "sqlite3"}
)


def is_of_a_driver(given: object) -> bool:
    """Tell whether an object belongs to a driver, and not to a test. Text is an alias of Django."""
    packages = {ancestor.__module__.partition(".")[0] for ancestor in type(given).__mro__}
    return isinstance(given, str) or not _DRIVERS.isdisjoint(packages)


def lent(door: Door, connection: object) -> Door:
    """Return a door into the open transaction of a connection, which leads to ``door`` at once."""
    if connection is None:
        raise InvalidInput("using: nothing was given", hint="give a connection or session")
    return LentDoor(door, borrow(connection)) if is_of_a_driver(connection) else door


def deferred(door: Door, session: object) -> Door:
    """Return a door that leads to ``door`` with the commit of a session that tells of it."""
    if session is None:
        raise InvalidInput("after_commit: nothing was given", hint="give a session")
    if not is_of_a_driver(session):
        return door
    return Guests(read_settings, lambda: door).deferred(session)


class LentDoor:
    """A ``Door`` that looks whether the transaction is open, and then submits elsewhere."""

    def __init__(self, door: Door, borrowed: Borrowed) -> None:
        """Submit through ``door``."""
        self._door = door
        self._borrowed = borrowed

    @property
    def actor(self) -> str:
        """Return who stands in the audit."""
        return self._door.actor

    def submit(self, wanted: Sequence[Submission]) -> list[Accepted]:
        """Submit, if a transaction is open."""
        self._borrowed.follow(_nothing())
        return self._door.submit(wanted)

    async def asubmit(self, wanted: Sequence[Submission]) -> list[Accepted]:
        """Submit, if a transaction is open."""
        await self._borrowed.afollow(_nothing())
        return await self._door.asubmit(wanted)

    def ask(self, asking: Asking[T]) -> T:
        """Ask there."""
        return self._door.ask(asking)

    async def aask(self, asking: Asking[T]) -> T:
        """Ask there."""
        return await self._door.aask(asking)


def _nothing() -> Queries[Any]:
    """Query nothing: that the transaction is open is looked at all the same."""
    yield from ()
