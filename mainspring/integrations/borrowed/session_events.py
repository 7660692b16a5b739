"""After the commit of a SQLAlchemy session, and only then.

The event ``after_commit`` comes for savepoints too, and a savepoint may be rolled back while the
transaction goes on. So what was asked for inside a savepoint is forgotten when that, or anything
around it, is rolled back; and it is done only when the outermost transaction has been committed.
"""

from collections.abc import Callable, Coroutine
from typing import Any

from mainspring.integrations.borrowed.faces import unusable


def after_commit(
    given: Any, act: Callable[[], None], aact: Callable[[], Coroutine[Any, Any, None]]
) -> None:
    """Call ``act``, or for an async session await ``aact``, after the session's commit."""
    awaits = hasattr(given, "run_sync")
    session = getattr(given, "sync_session", given)
    if hasattr(given, "registry"):  # scoped: the session of this thread, coroutine or request
        session = given.registry()
        session = getattr(session, "sync_session", session)
    if not hasattr(session, "get_nested_transaction"):
        raise unusable(given, "does not tell when it commits: give the session")
    _Wish(session, (lambda: _awaited(aact)) if awaits else act).listen()


def _awaited(aact: Callable[[], Coroutine[Any, Any, None]]) -> None:
    """Await inside of an async session's commit, which runs beside the loop."""
    from sqlalchemy.util import await_only

    await_only(aact())


class _Wish:
    """Something to be done once, after the commit of what is open now."""

    def __init__(self, session: Any, act: Callable[[], None]) -> None:
        self._session = session
        self._act = act
        self._around: list[object] = []
        transaction = session.get_nested_transaction() or session.get_transaction()
        while transaction is not None:
            self._around.append(transaction)
            transaction = transaction.parent

    def listen(self) -> None:
        from sqlalchemy import event

        event.listen(self._session, "after_commit", self._committed)
        event.listen(self._session, "after_soft_rollback", self._rolled_back)

    def _forget(self) -> None:
        from sqlalchemy import event

        event.remove(self._session, "after_commit", self._committed)
        event.remove(self._session, "after_soft_rollback", self._rolled_back)

    def _committed(self, session: Any) -> None:
        if session.get_nested_transaction() is not None:
            return
        self._forget()
        self._act()

    def _rolled_back(self, _session: Any, ended: Any) -> None:
        if ended.parent is None or any(ended is each for each in self._around):
            self._forget()
