"""Django: the connection of an alias, on PostgreSQL or SQLite."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, Final

from mainspring.domain.errors import InvalidInput
from mainspring.domain.names import suggestion
from mainspring.integrations.borrowed.faces import (
    Blocking,
    cursor_rows,
    not_in_transaction,
    unusable,
)
from mainspring.integrations.borrowed.with_sqlite import BEGIN
from mainspring.ports.guest import Dialect, Query, Row, Style

_DIALECTS: Final = {"postgresql": Dialect.POSTGRES, "sqlite": Dialect.SQLITE}


class DjangoConnection(Blocking):
    """A ``DatabaseWrapper``, found by its alias."""

    name = "this Django connection"
    advice = "submit inside: with transaction.atomic()"

    def __init__(self, given: Any) -> None:
        from django.db import connections

        self._alias = given if isinstance(given, str) else given.alias
        if self._alias not in connections.settings:
            raise InvalidInput(
                f"Django's settings have no database {self._alias!r}",
                hint=suggestion(self._alias, connections.settings),
            )
        self._wrapper = connections[self._alias]
        vendor = self._wrapper.vendor
        if vendor not in _DIALECTS:
            raise unusable(self._wrapper, f"speaks {vendor}: that is no store")
        self.dialect = _DIALECTS[vendor]

    @property
    def identity(self) -> object:
        self._wrapper.ensure_connection()
        return self._wrapper.connection

    def insist(self) -> None:
        if not self.is_open():
            raise not_in_transaction(self.name, self.advice)
        if self.dialect is Dialect.SQLITE and not self._wrapper.connection.in_transaction:
            with self._wrapper.cursor() as cursor:
                cursor.execute(BEGIN)

    def fetch(self, query: Query) -> Sequence[Row]:
        with self._wrapper.cursor() as cursor:
            cursor.execute(query.texts[Style.PYFORMAT], dict(query.values) or None)
            return cursor_rows(cursor)

    def is_open(self) -> bool:
        return bool(self._wrapper.in_atomic_block or not self._wrapper.get_autocommit())

    @contextmanager
    def begin(self) -> Iterator[object]:
        from django.db import transaction

        with transaction.atomic(using=self._alias, durable=True):
            yield self._wrapper


def after_commit(given: Any, act: Callable[[], None]) -> None:
    """Call ``act`` once the transaction of an alias has been committed."""
    from django.db import transaction

    alias = given if isinstance(given, str) else given.alias
    transaction.on_commit(act, using=alias)
