"""``ctx.transaction(...)``: an attempt that ends together with what its handler writes.

>>> @app.job()
... async def charge(ctx: Context[Deps], order_id: int) -> None:
...     async with ctx.deps.sessions() as session, ctx.transaction(session) as tx:
...         session.add(Payment(order_id=order_id))
...         tx.result = {"paid": True}
"""

from contextlib import AbstractAsyncContextManager, AbstractContextManager
from types import TracebackType
from typing import Any, Generic, Protocol, Self, TypeVar

C = TypeVar("C")


class Finisher(Protocol):
    """Begins a transaction, and before its commit finishes the attempt in it."""

    def enter(self, transaction: "Transaction[Any]") -> AbstractContextManager[None]:
        """Do so on a connection whose calls block."""
        ...

    def aenter(self, transaction: "Transaction[Any]") -> AbstractAsyncContextManager[None]:
        """Do so on a connection whose calls are awaited."""
        ...


class Transaction(Generic[C]):
    """A transaction whose commit also ends the attempt, as succeeded.

    Either both happen or neither: an exception inside, a crash, or a lease that was lost meanwhile
    (``LeaseLost``) leaves nothing of it. What the handler returns afterwards does not count.
    """

    def __init__(self, finisher: Finisher, connection: C, result: object) -> None:
        """Begin nothing yet; made by ``ctx.transaction``."""
        self._finisher = finisher
        self._entered: AbstractContextManager[None]
        self._awaited: AbstractAsyncContextManager[None]
        #: The connection or session, the one that was given or one to the store's own database.
        self.connection = connection
        #: The attempt's result; may be set inside the block.
        self.result = result

    def __enter__(self) -> Self:
        """Begin, on a connection whose calls block."""
        self._entered = self._finisher.enter(self)
        self._entered.__enter__()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> bool | None:
        """Finish the attempt and commit; after an exception, roll back."""
        return self._entered.__exit__(kind, error, trace)

    async def __aenter__(self) -> Self:
        """Begin, on a connection whose calls are awaited."""
        self._awaited = self._finisher.aenter(self)
        await self._awaited.__aenter__()
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> bool | None:
        """Finish the attempt and commit; after an exception, roll back."""
        return await self._awaited.__aexit__(kind, error, trace)
