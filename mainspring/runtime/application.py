"""``mainspring.App``: the declarations of ``app.declare``, with doors to a store.

>>> app = App("shop")                                    # opens nothing
>>> async with app.connect("sqlite:///shop.db") as client:
...     handle = await send_receipt.asubmit(order_id=7)  # goes where the app is connected

Light to import: what opens a store is brought when one is opened.
"""

import asyncio
import atexit
import os
import threading
import weakref
from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager, contextmanager
from typing import TYPE_CHECKING, Any, Unpack

from mainspring.app import declare
from mainspring.app.batches import Batches
from mainspring.app.middleware import Middleware
from mainspring.app.transaction import Finisher
from mainspring.ports.door import Door, Lending

if TYPE_CHECKING:
    from mainspring.client.portal import Portal
    from mainspring.runtime.borrowing import Guests
    from mainspring.runtime.connect import AsyncClient, Client
    from mainspring.runtime.embedded import EmbeddedWorker
    from mainspring.runtime.embedding import EmbedOptions
    from mainspring.runtime.setting_table import Settings


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
        self._guests: Guests | None = None
        #: Of the clients that are open, the last one counts.
        self._settings: list[Settings] = []

    @asynccontextmanager
    async def connect(
        self, url: str | None = None, *, blobs: str | None = None, actor: str = "sdk"
    ) -> "AsyncIterator[AsyncClient]":
        """Open a client; while it is open, this app's jobs are submitted through it.

        ``url`` is a store's address; by default the settings say it (``MAINSPRING_STORE``).
        """
        from mainspring.runtime.connect import connect

        async with connect(url, blobs=blobs, actor=actor) as client:
            with self.use(client.door), self._set(url, blobs):
                yield client

    @contextmanager
    def connect_sync(
        self, url: str | None = None, *, blobs: str | None = None, actor: str = "sdk"
    ) -> "Iterator[Client]":
        """Open a client for code without an event loop; see ``connect``."""
        from mainspring.runtime.connect import connect_sync

        opening = connect_sync(url, blobs=blobs, actor=actor)
        with opening as client, self.use(client.door), self._set(url, blobs):
            yield client

    @asynccontextmanager
    async def embedded(
        self, url: str | None = None, **options: "Unpack[EmbedOptions]"
    ) -> "AsyncIterator[AsyncClient]":
        """Connect, and have a worker beside this process: for a web application's lifespan.

        >>> @asynccontextmanager
        ... async def lifespan(api: FastAPI):
        ...     async with app.embedded():
        ...         yield

        The worker is a process of its own. Server processes of one machine that embed the same app
        share one, unless ``shared=False``; any number of them is safe either way. It drains when
        the block ends, and when this process is killed.
        """
        worker, settings = await asyncio.to_thread(self._embedding, url, options)
        async with self.connect(settings.store_url, blobs=options.get("blobs")) as client:
            worker.start()
            try:
                yield client
            finally:
                await asyncio.to_thread(worker.stop)

    @contextmanager
    def embedded_sync(
        self, url: str | None = None, **options: "Unpack[EmbedOptions]"
    ) -> "Iterator[Client]":
        """Connect, and have a worker beside this process; see ``embedded``."""
        worker, settings = self._embedding(url, options)
        with self.connect_sync(settings.store_url, blobs=options.get("blobs")) as client:
            worker.start()
            try:
                yield client
            finally:
                worker.stop()

    def _embedding(
        self, url: str | None, options: "EmbedOptions"
    ) -> "tuple[EmbeddedWorker, Settings]":
        from mainspring.runtime.embedding import prepared_worker

        return prepared_worker(self, url, options)

    @contextmanager
    def _set(self, url: str | None, blobs: str | None) -> Iterator[None]:
        from mainspring.runtime.settings import read_settings

        settings = read_settings(store=url, blobs=blobs)
        self._settings.append(settings)
        try:
            yield
        finally:
            self._settings.remove(settings)

    def settings(self) -> "Settings":
        """Return the settings of the client that is open, else those of the environment."""
        from mainspring.runtime.settings import read_settings

        return self._settings[-1] if self._settings else read_settings()

    def using(self, connection: object) -> Batches:
        """Return what submits many calls inside the open transaction of your connection."""
        return Batches(self.borrowed(connection))

    def borrowed(self, connection: object) -> Door:
        """Return a door into the open transaction of a caller's connection."""
        return self._lender().borrowed(connection)

    def deferred(self, session: object) -> Door:
        """Return a door that submits after a session's commit."""
        return self._lender().deferred(session)

    def finisher(self, attempt: Any) -> Finisher:
        """Return what finishes an attempt in its handler's own transaction."""
        from mainspring.runtime.borrowing import AttemptFinisher

        return AttemptFinisher(self._own_lender(), attempt)

    def _lender(self) -> Lending:
        """Return the door that is open if it has its own answer, as a test kit's has."""
        for door in self._doors[-1:]:
            if isinstance(door, Lending):
                return door
        return self._own_lender()

    def _own_lender(self) -> "Guests":
        if self._guests is None:
            from mainspring.runtime.borrowing import Guests

            self._guests = Guests(self.settings, lambda: self.door)
        return self._guests

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
