"""``mainspring.App``: the declarations of ``app.declare``, with doors to a store.

>>> app = App("shop")                                    # opens nothing
>>> async with app.connect("sqlite:///shop.db") as client:
...     handle = await send_receipt.asubmit(order_id=7)  # goes where the app is connected

Light to import: what opens a store is brought when one is opened.
"""

import atexit
import os
import threading
import weakref
from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager, contextmanager
from typing import TYPE_CHECKING, Any

from mainspring.app import declare
from mainspring.app.middleware import Middleware
from mainspring.ports.door import Door

if TYPE_CHECKING:
    from mainspring.client.portal import Portal
    from mainspring.runtime.connect import AsyncClient, Client


class App(declare.App):
    """Handlers with their defaults. Opens nothing by itself; any number may live in one process."""

    def __init__(
        self,
        name: str,
        *,
        lifespan: Callable[[], AbstractAsyncContextManager[Any]] | None = None,
        middleware: Sequence[Middleware] = (),
    ) -> None:
        """Make an empty app.

        ``lifespan`` yields what ``ctx.deps`` holds, once per process. Each of ``middleware`` takes
        the context of an attempt and returns a context manager, which is entered around the
        handler, where the handler runs; the first one is the outermost.
        """
        super().__init__(name, lifespan=lifespan, middleware=middleware)
        self._kept = _KeptDoor()

    @asynccontextmanager
    async def connect(
        self, url: str | None = None, *, blobs: str | None = None, actor: str = "sdk"
    ) -> "AsyncIterator[AsyncClient]":
        """Open a client; while it is open, this app's jobs are submitted through it.

        ``url`` is a store's address; by default the settings say it (``MAINSPRING_STORE``).
        """
        from mainspring.runtime.connect import connect

        async with connect(url, blobs=blobs, actor=actor) as client:
            with self.use(client.door):
                yield client

    @contextmanager
    def connect_sync(
        self, url: str | None = None, *, blobs: str | None = None, actor: str = "sdk"
    ) -> "Iterator[Client]":
        """Open a client for code without an event loop; see ``connect``."""
        from mainspring.runtime.connect import connect_sync

        with connect_sync(url, blobs=blobs, actor=actor) as client, self.use(client.door):
            yield client

    def default_door(self) -> Door:
        """Return the door to the store of the settings: opened when first used, then kept."""
        return self._kept.get()


class _KeptDoor:
    """A door that is opened when first asked for and kept until the process ends.

    A forked child opens its own: threads, loops and connections do not survive a fork.
    """

    def __init__(self) -> None:
        self._guard = threading.Lock()
        self._portal: Portal | None = None
        #: What a parent had opened: never used, never closed, never collected here.
        self._inherited: list[Portal] = []
        me = weakref.ref(self)
        os.register_at_fork(after_in_child=lambda: _begin_anew(me))

    def get(self) -> Door:
        with self._guard:
            if self._portal is None:
                from mainspring.runtime.connect import open_portal

                portal = open_portal()
                portal.__enter__()
                self._portal = portal
                atexit.register(self._close)
            return self._portal.door

    def begin_anew(self) -> None:
        self._guard = threading.Lock()
        if self._portal is not None:
            self._inherited.append(self._portal)
            self._portal = None
            atexit.unregister(self._close)

    def _close(self) -> None:
        with self._guard:
            portal, self._portal = self._portal, None
        if portal is not None:
            portal.__exit__(None, None, None)


def _begin_anew(kept: "weakref.ref[_KeptDoor]") -> None:
    found = kept()
    if found is not None:
        found.begin_anew()
