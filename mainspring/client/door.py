"""The door of an open client: questions reach the loop on which its gateway lives."""

import asyncio
from collections.abc import Sequence
from typing import TypeVar

from mainspring.domain.errors import Conflict
from mainspring.ports.door import Asking
from mainspring.ports.gateway import Accepted, ClientGateway, Submission

T = TypeVar("T")


class LoopDoor:
    """A ``Door`` to a gateway on one event loop, from any thread and any other loop."""

    def __init__(
        self,
        gateway: ClientGateway,
        loop: asyncio.AbstractEventLoop,
        *,
        actor: str = "sdk",
        is_apart: bool = False,
    ) -> None:
        """Speak to a gateway that lives on ``loop``; its opener closes it.

        ``is_apart`` says that the loop has a thread of its own, where no user code runs: then
        blocking for its answer stops nobody but the caller.
        """
        self._gateway = gateway
        self._loop = loop
        self._actor = actor
        self._is_apart = is_apart
        self._is_closed = False

    @property
    def actor(self) -> str:
        """Return who stands in the audit."""
        return self._actor

    def submit(self, wanted: Sequence[Submission]) -> list[Accepted]:
        """Submit; block until it is acknowledged."""
        return self.ask(lambda gateway: gateway.submit(wanted))

    async def asubmit(self, wanted: Sequence[Submission]) -> list[Accepted]:
        """Submit."""
        return await self.aask(lambda gateway: gateway.submit(wanted))

    def ask(self, asking: Asking[T]) -> T:
        """Block for the answer; Ctrl-C here cancels the question over there."""
        self._check_open()
        if not self._is_apart and _is_on_loop():
            raise Conflict(
                "a blocking call on a running event loop would stop it",
                hint="await the method that begins with a: asubmit(), aresult(), aget()",
            )
        running = asyncio.run_coroutine_threadsafe(asking(self._gateway), self._loop)
        try:
            return running.result()
        except BaseException:
            running.cancel()
            raise

    async def aask(self, asking: Asking[T]) -> T:
        """Await the answer, here or from the other loop."""
        self._check_open()
        if asyncio.get_running_loop() is self._loop:
            return await asking(self._gateway)
        running = asyncio.run_coroutine_threadsafe(asking(self._gateway), self._loop)
        return await asyncio.wrap_future(running)

    def close(self) -> None:
        """Refuse whatever is asked from now on."""
        self._is_closed = True

    def _check_open(self) -> None:
        if self._is_closed or self._loop.is_closed():
            raise Conflict("this client is closed", hint="use it inside its with block")


def _is_on_loop() -> bool:
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return False
    return True
