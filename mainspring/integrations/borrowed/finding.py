"""Which driver an object belongs to: told by the modules of its type, so nothing is imported."""

import sys
from collections.abc import Callable, Coroutine
from typing import Any

from mainspring.domain.errors import InvalidInput
from mainspring.integrations.borrowed.faces import unusable
from mainspring.ports.guest import Borrowed


def borrow(given: Any) -> Borrowed:
    """Return a face for a connection or session; ``InvalidInput`` when it is none that is known."""
    match _driver_of(given):
        case "sqlite3":
            from mainspring.integrations.borrowed.with_sqlite import SqliteConnection

            return SqliteConnection(given)
        case "aiosqlite":
            from mainspring.integrations.borrowed.with_sqlite import AiosqliteConnection

            return AiosqliteConnection(given)
        case "sqlalchemy":
            return _sqlalchemy(given)
        case "django":
            from mainspring.integrations.borrowed.with_django import DjangoConnection

            return DjangoConnection(given)
        case "asyncpg":
            from mainspring.integrations.borrowed.with_asyncpg import AsyncpgConnection

            return AsyncpgConnection(given)
        case "psycopg" | "psycopg2":
            return _psycopg(given)
        case _ if isinstance(given, str):
            raise InvalidInput(
                f"the alias {given!r} needs Django, which nothing has loaded here",
                hint="call django.setup() first, or give a connection instead of its alias",
            )
        case _:
            raise unusable(given, "is no connection whose transaction can be used")


def defer(
    given: Any, act: Callable[[], None], aact: Callable[[], Coroutine[Any, Any, None]]
) -> None:
    """Call ``act``, or on an event loop await ``aact``, once the open transaction is committed."""
    match _driver_of(given):
        case "sqlalchemy":
            from mainspring.integrations.borrowed.session_events import after_commit

            after_commit(given, act, aact)
        case "django":
            from mainspring.integrations.borrowed import with_django

            with_django.after_commit(given, act)
        case _:
            raise unusable(given, "does not tell when it commits")


def _driver_of(given: Any) -> str | None:
    """Return the package of the first class of this object that belongs to a driver."""
    if isinstance(given, str):
        # The alias of a connection; without Django it is just text.
        return "django" if "django.db" in sys.modules else None
    for ancestor in type(given).__mro__:
        package = ancestor.__module__.partition(".")[0]
        if package in _HINTS:
            usable = any(hasattr(given, name) for name in _HINTS[package])
            return package if usable else None
    return None


#: By package: what tells a connection or session from its engines, pools and cursors.
_HINTS = {
    "sqlite3": ("in_transaction",),
    "aiosqlite": ("in_transaction",),
    "sqlalchemy": ("in_transaction", "registry"),
    "django": ("in_atomic_block",),
    "asyncpg": ("is_in_transaction",),
    "psycopg": ("info",),
    "psycopg2": ("info",),
}


def _sqlalchemy(given: Any) -> Borrowed:
    from mainspring.integrations.borrowed import with_sqlalchemy as module

    if hasattr(given, "run_sync"):
        return module.AsyncSqlalchemySession(given)
    return module.SqlalchemySession(given)


def _psycopg(given: Any) -> Borrowed:
    from mainspring.integrations.borrowed import with_psycopg as module

    if type(given).__module__.startswith("psycopg2"):
        return module.Psycopg2Connection(given)
    if hasattr(given, "__aenter__"):
        return module.AsyncPsycopgConnection(given)
    return module.PsycopgConnection(given)
