"""From what the driver raises to what the product says: nothing happened, or nobody knows.

The question that matters is whether a change may have been committed. A statement that was never
sent, that the server refused, or that stood in a transaction without its COMMIT, changed nothing:
``ConnectionFailed`` and its kin. Anything that broke between sending and the answer of a change is
``OutcomeUnknown``.
"""

from enum import Enum
from typing import Final, TypeAlias
from urllib.parse import parse_qs, urlsplit

import asyncpg

from mainspring.domain.errors import (
    ConfigError,
    ConnectionFailed,
    InvalidInput,
    MainspringError,
    OutcomeUnknown,
    StoreNotMigrated,
    StoreNotWritable,
)

_Kinds: TypeAlias = tuple[type[BaseException], ...]


class Sent(Enum):
    """How far a call had come when it failed."""

    NOTHING = "nothing"
    #: Only reads, or changes whose COMMIT was not sent: the server forgets them.
    HARMLESS = "harmless"
    CHANGE = "change"


_COLLISIONS: Final = (asyncpg.SerializationError, asyncpg.DeadlockDetectedError)

#: Everything that a broken, refused or silent connection raises.
DRIVER_ERRORS: Final = (
    asyncpg.PostgresError,
    asyncpg.InterfaceError,
    asyncpg.InternalClientError,
    OSError,
    TimeoutError,
    EOFError,
)

_NOT_MIGRATED: Final = (
    asyncpg.UndefinedTableError,
    asyncpg.UndefinedColumnError,
    asyncpg.UndefinedFunctionError,
    asyncpg.InvalidSchemaNameError,
)
_NOT_WRITABLE: Final = (
    asyncpg.DiskFullError,
    asyncpg.ReadOnlySQLTransactionError,
    asyncpg.InsufficientPrivilegeError,
)
# The server said no and rolled back: it is busy, starting, or full.
_BUSY: Final = (
    asyncpg.QueryCanceledError,
    asyncpg.LockNotAvailableError,
    asyncpg.TooManyConnectionsError,
    asyncpg.CannotConnectNowError,
    asyncpg.InsufficientResourcesError,
    asyncpg.InvalidAuthorizationSpecificationError,
    asyncpg.InvalidCatalogNameError,
    asyncpg.IdleInTransactionSessionTimeoutError,
    *_COLLISIONS,
)
_BROKEN: Final = (
    asyncpg.PostgresConnectionError,
    asyncpg.OperatorInterventionError,
    asyncpg.InternalClientError,
    OSError,
    TimeoutError,
    EOFError,
)

# The first that fits counts: the busy ones and the broken ones share ancestors.
_MEANINGS: Final[tuple[tuple[_Kinds, type[MainspringError], str], ...]] = (
    (
        (asyncpg.ClientConfigurationError, asyncpg.UndefinedObjectError),
        ConfigError,
        "has an address with a parameter that cannot be used",
    ),
    (_NOT_MIGRATED, StoreNotMigrated, "lacks tables"),
    (_NOT_WRITABLE, StoreNotWritable, "cannot be written"),
    (_BUSY, ConnectionFailed, "refused and changed nothing"),
    ((*_BROKEN, asyncpg.InterfaceError), ConnectionFailed, "cannot be reached"),
    ((asyncpg.DataError,), InvalidInput, "cannot keep a value"),
)


# What helps, where it is not what helps against most failures of that meaning.
_HINTS: Final[tuple[tuple[_Kinds, str], ...]] = (
    (
        (asyncpg.InvalidCatalogNameError,),
        "create the database first, or correct its name in the address",
    ),
    (
        (asyncpg.InvalidAuthorizationSpecificationError,),
        "correct the user or the password in the address, or let the server accept them",
    ),
    (
        (asyncpg.InsufficientPrivilegeError,),
        "use a role that owns the schema mainspring, or that was granted its tables",
    ),
    (
        (asyncpg.ReadOnlySQLTransactionError,),
        "the server is a standby, or set to read only: name the primary in the address",
    ),
    (
        (asyncpg.TooManyConnectionsError,),
        "try again; or raise the server's max_connections, or run fewer processes",
    ),
    ((asyncpg.CannotConnectNowError,), "the server is starting or stopping: try again in a moment"),
)


def is_repeatable(error: BaseException) -> bool:
    """Say whether another try of the whole transaction may succeed where this one collided.

    Besides deadlocks and their kin: a row on its way into the default partition when a partition of
    its own was attached. The server says so with a check that has no name; all of ours have one.
    """
    if isinstance(error, asyncpg.CheckViolationError):
        name: str | None = getattr(error, "constraint_name", None)
        return name is None
    return isinstance(error, _COLLISIONS)


def unreadable_address() -> ConfigError:
    """Return the error for an address that is no URL. It is not shown: a password may be in it."""
    return ConfigError(
        "the address of the PostgreSQL store cannot be read",
        hint="write postgresql://USER:PASSWORD@HOST:PORT/DATABASE, and in a password "
        "%40 for @, %3A for :, %2F for /, %23 for #",
    )


def shown_address(dsn: str) -> str:
    """Return ``host:port/database`` of a DSN: what messages may show, never the password."""
    try:
        parts = urlsplit(dsn)
        # A host in the query is a name, or the folder of a socket.
        named = parse_qs(parts.query).get("host", ["local socket"])[0]
        where = f"{parts.hostname or named}:{parts.port or 5432}"
        return f"{where}/{parts.path.removeprefix('/') or 'postgres'}"
    except ValueError:
        return "PostgreSQL"


def translate(error: BaseException, sent: Sent, address: str) -> MainspringError:
    """Return what this failure means for whoever called the store."""
    reason = _reason(error)
    refused = isinstance(error, _BUSY)
    if sent is Sent.CHANGE and isinstance(error, _BROKEN) and not refused:
        return OutcomeUnknown(f"the connection to {address} broke during a change: {reason}")
    for kinds, meaning, words in _MEANINGS:
        if isinstance(error, kinds):
            return meaning(f"the store {address} {words}: {reason}", hint=_hint(error))
    return MainspringError(f"the store {address} refused a statement: {reason}")


def _hint(error: BaseException) -> str | None:
    return next((hint for kinds, hint in _HINTS if isinstance(error, kinds)), None)


def _reason(error: BaseException) -> str:
    """Return one line about an error. PostgreSQL never repeats a password in its messages."""
    if isinstance(error, TimeoutError) and not str(error):
        return "no answer in time"
    return str(error).strip().partition("\n")[0] or type(error).__name__
