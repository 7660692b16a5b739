"""The door that a test puts before an app: everything the app submits or asks stays in the test."""

from collections.abc import AsyncIterator, Iterator, Sequence
from contextlib import asynccontextmanager, contextmanager
from contextvars import ContextVar
from typing import Final, TypeVar

from mainspring.app.declare import App
from mainspring.domain.job import JobView
from mainspring.ports.door import Asking, Door
from mainspring.ports.gateway import Accepted, Submission
from mainspring.runtime.connect import AsyncClient, Client
from mainspring.testing.lending import deferred, lent
from mainspring.testing.workbench import Workbench
from mainspring.testing.world import KitDesk, at_once

T = TypeVar("T")

#: Whether the question that is being answered came through a face that awaits.
_awaits: Final[ContextVar[bool]] = ContextVar("mainspring_testing_awaits", default=False)


class KitDoor:
    """A ``Door`` to the world of a test. Answers at once; in the mode ``inline`` jobs run first."""

    actor = "testing"

    def __init__(self, desk: KitDesk, bench: Workbench) -> None:
        """Answer from this desk; run on this bench."""
        self._desk = desk
        self._bench = bench
        desk.on_wait = self._wait
        desk.on_cancel = bench.on_cancel

    def submit(self, wanted: Sequence[Submission]) -> list[Accepted]:
        """Submit; run, if jobs are run at once."""
        accepted = at_once(self._desk.submit(wanted))
        self._bench.after_submit()
        return accepted

    async def asubmit(self, wanted: Sequence[Submission]) -> list[Accepted]:
        """Submit; run, if jobs are run at once."""
        accepted = await self._desk.submit(wanted)
        await self._bench.after_asubmit()
        return accepted

    def ask(self, asking: Asking[T]) -> T:
        """Answer a question."""
        before = _awaits.set(False)
        try:
            return at_once(asking(self._desk))
        finally:
            _awaits.reset(before)

    async def aask(self, asking: Asking[T]) -> T:
        """Answer a question."""
        before = _awaits.set(True)
        try:
            return await asking(self._desk)
        finally:
            _awaits.reset(before)

    async def _wait(self, job: JobView) -> None:
        if _awaits.get():
            await self._bench.aprogress(job)
        else:
            self._bench.progress(job)

    @contextmanager
    def installed(self, app: App) -> Iterator[None]:
        """Let the app submit here, also where it connects of its own or names a transaction."""
        instead = {"connect": self._connect, "connect_sync": self._connect_sync}
        with app.use(self):
            vars(app).update(instead)
            try:
                yield
            finally:
                for name in instead:
                    vars(app).pop(name, None)

    def borrowed(self, connection: object) -> Door:
        """Return a door for ``using``: what is submitted counts at once, committed or not."""
        return lent(self, connection)

    def deferred(self, session: object) -> Door:
        """Return a door for ``after_commit``: what is submitted counts with the commit."""
        return deferred(self, session)

    @asynccontextmanager
    async def _connect(self, *_: object, **__: object) -> AsyncIterator[AsyncClient]:
        yield AsyncClient(self)

    @contextmanager
    def _connect_sync(self, *_: object, **__: object) -> Iterator[Client]:
        yield Client(self)
