"""A store as a guest: its statements on a connection, and in a transaction, of the caller's.

What is to be done is a generator of queries: it is sent the rows of each, and returns its result.
So one logic serves every driver, sync or async. Whoever runs it neither begins nor ends the
transaction: what was done is there if and only if the caller commits.
"""

from collections.abc import Generator, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, AbstractContextManager
from enum import Enum
from typing import Any, NamedTuple, Protocol, TypeAlias, TypeVar

from mainspring.domain.job import NewJob, Receipt, Settled, Settlement
from mainspring.domain.webhooks import Listener

T = TypeVar("T")


class Style(Enum):
    """How a driver wants parameters to be written."""

    #: ``$1``: values by position.
    NUMBERED = "numbered"
    #: ``%(name)s``: values by name, every other percent sign doubled.
    PYFORMAT = "pyformat"
    #: ``:name``: values by name.
    NAMED = "named"


class Query(NamedTuple):
    """One statement in every style, with its values.

    Values are text, bytes, whole numbers or nothing: no driver needs to be told their types.
    """

    texts: Mapping[Style, str]
    values: Mapping[str, object]

    def ordered(self) -> list[object]:
        """Return the values by position."""
        return list(self.values.values())


#: Rows are sequences; ids and other binary values in them are ``bytes``.
Row: TypeAlias = Sequence[Any]
Queries: TypeAlias = Generator[Query, Sequence[Row], T]


class Dialect(Enum):
    """What kind of database is at the other end."""

    POSTGRES = "PostgreSQL"
    SQLITE = "SQLite"


class Guest(Protocol):
    """What a store can do on a connection that is not its own."""

    def check_ready(self) -> Queries[None]:
        """Raise ``StoreNotMigrated`` or ``StoreNewer`` unless the tables fit this code."""
        ...

    def submit(self, jobs: Sequence[NewJob]) -> Queries[list[Receipt]]:
        """Insert jobs as ``SubmissionStore.submit`` does; workers are told at the commit."""
        ...

    def settle(self, settlement: Settlement) -> Queries[Settled]:
        """Carry out the settlement of a plain success, if the attempt still holds its job."""
        ...

    def listeners(self, tenant: str) -> Queries[list[Listener]]:
        """Return the tenant's active endpoints of webhooks."""
        ...


class Borrowed(Protocol):
    """A caller's connection. Nothing of it is kept beyond the call."""

    @property
    def dialect(self) -> Dialect:
        """Return what kind of database this is."""
        ...

    @property
    def awaits(self) -> bool:
        """Tell whether it is used with ``await``."""
        ...

    @property
    def identity(self) -> object:
        """Return the object that stands for the physical connection."""
        ...

    def follow(self, queries: Queries[T]) -> T:
        """Run queries in the open transaction; ``NotInTransaction`` when there is none."""
        ...

    async def afollow(self, queries: Queries[T]) -> T:
        """Run queries in the open transaction; ``NotInTransaction`` when there is none."""
        ...

    def transaction(self) -> AbstractContextManager[object]:
        """Begin a transaction that is committed at the end, and rolled back by an exception.

        ``Conflict`` when one is open already: then its end is not ours to decide.
        """
        ...

    def atransaction(self) -> AbstractAsyncContextManager[object]:
        """Do the same for a connection that is used with ``await``."""
        ...
