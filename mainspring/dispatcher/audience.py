"""The endpoints of webhooks that judges know: read again every few seconds.

Whoever judges looks here first, so a verdict that nobody listens to costs a glance at a clock. An
endpoint that was made, changed or disabled is known everywhere within ``STALE_SECONDS_MAX``.
"""

from collections.abc import Callable
from typing import Protocol

from mainspring.domain.webhooks import STALE_SECONDS_MAX, Listener
from mainspring.policies.listening import NOBODY, Listeners


class ListenerStore(Protocol):
    """The part of a store that knows who listens."""

    async def list_listeners(self) -> list[Listener]:
        """Return every active endpoint."""
        ...


class Audience:
    """Who listens, as it was known a moment ago. One for all judges of a process."""

    def __init__(self, store: ListenerStore, monotonic: Callable[[], float]) -> None:
        """Ask this store."""
        self._store = store
        self._monotonic = monotonic
        self._listeners = NOBODY
        self._is_any = False
        self._until = float("-inf")

    def is_silent(self) -> bool:
        """Say whether it is known that nobody listens: asked for every verdict, so it is quick."""
        return not self._is_any and self._monotonic() < self._until

    @property
    def known(self) -> Listeners | None:
        """Return who listens, unless that was read too long ago."""
        return self._listeners if self._monotonic() < self._until else None

    async def listeners(self) -> Listeners:
        """Return who listens; read it where it was read too long ago.

        Raises what the store raises: nobody judges while it is unknown who is to be told.
        """
        known = self.known
        if known is not None:
            return known
        # From before the question: what is made while it is answered may be missing.
        until = self._monotonic() + STALE_SECONDS_MAX
        self._listeners = Listeners(await self._store.list_listeners())
        self._is_any = bool(self._listeners)
        self._until = until
        return self._listeners
