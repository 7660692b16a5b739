"""After the commit of a SQLAlchemy session, and only then.

The event ``after_commit`` comes for savepoints too, and a savepoint may be rolled back while the
transaction goes on. So what was asked for inside a savepoint is forgotten when that, or anything
around it, is rolled back; and it is done only when the outermost transaction has been committed.
"""

from collections.abc import Callable, Coroutine
from typing import Any, Final, NamedTuple

from mainspring.integrations.borrowed.faces import not_in_transaction, unusable

_PLACE: Final = "mainspring_wishes"


def after_commit(
    given: Any, act: Callable[[], None], aact: Callable[[], Coroutine[Any, Any, None]]
) -> None:
    """Call ``act``, or for an async session await ``aact``, after the session's commit."""
    awaits = hasattr(given, "run_sync")
    session = given.registry() if hasattr(given, "registry") else given  # of this thread, or so
    session = getattr(session, "sync_session", session)
    if not hasattr(session, "flush"):
        raise unusable(given, "does not tell when it commits: give the session")
    transaction = session.get_nested_transaction() or session.get_transaction()
    if transaction is None:
        raise not_in_transaction(
            "this SQLAlchemy session",
            "ask for it after the first statement, or inside: with session.begin()",
        )
    wish = _Wish(_around(transaction), (lambda: _awaited(aact)) if awaits else act)
    _wishes_of(session).waiting.append(wish)


class _Wish(NamedTuple):
    """Something to be done once, and the transactions in which it was asked for."""

    around: tuple[object, ...]
    act: Callable[[], None]


class _Wishes:
    """What waits for the commit of one session."""

    def __init__(self) -> None:
        self.waiting: list[_Wish] = []
        #: A savepoint that was just released, and did not end by a rollback.
        self.released: object = None


def _around(transaction: Any) -> tuple[object, ...]:
    found: list[object] = []
    while transaction is not None:
        found.append(transaction)
        transaction = transaction.parent
    return tuple(found)


def _wishes_of(session: Any) -> _Wishes:
    """Return what waits for the session's commit; the first time, begin to listen."""
    if _PLACE not in session.info:
        from sqlalchemy import event

        session.info[_PLACE] = _Wishes()
        event.listen(session, "after_commit", _committed)
        event.listen(session, "after_transaction_end", _ended)
    wishes: _Wishes = session.info[_PLACE]
    return wishes


def _committed(session: Any) -> None:
    wishes: _Wishes = session.info[_PLACE]
    wishes.released = session.get_nested_transaction()
    if wishes.released is None:
        granted, wishes.waiting = wishes.waiting, []
        for wish in granted:
            wish.act()


def _ended(session: Any, transaction: object) -> None:
    """Forget what was asked for inside, unless it was kept: rolled back, closed or lost."""
    wishes: _Wishes = session.info[_PLACE]
    if transaction is wishes.released:
        wishes.released = None
        return
    wishes.waiting = [
        wish for wish in wishes.waiting if not any(transaction is each for each in wish.around)
    ]


def _awaited(aact: Callable[[], Coroutine[Any, Any, None]]) -> None:
    """Await inside of an async session's commit, which runs beside the loop."""
    from sqlalchemy.util import await_only

    await_only(aact())
