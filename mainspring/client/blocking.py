"""The client for code without an event loop: a facade over one thread that has one."""

import asyncio
import threading
from collections.abc import Callable, Coroutine, Sequence
from concurrent.futures import Future
from contextlib import AbstractAsyncContextManager
from types import TracebackType
from typing import Any, Generic, Self, TypeVar, overload

from mainspring.app.declare import Call, Job
from mainspring.client.client import AsyncClient, Duration, Handle
from mainspring.domain.errors import Conflict
from mainspring.domain.job import AttemptView, JobView
from mainspring.domain.outcome import LogLine
from mainspring.domain.states import JobState

R = TypeVar("R")
T = TypeVar("T")


class Portal:
    """One thread with an event loop and an open client; calls of other threads go through it."""

    def __init__(self, open_client: Callable[[], AbstractAsyncContextManager[AsyncClient]]) -> None:
        """Open nothing before it is entered."""
        self._open_client = open_client
        self._opened: Future[AsyncClient] = Future()
        self._loop: asyncio.AbstractEventLoop
        self._closing: asyncio.Event
        self._thread = threading.Thread(
            target=lambda: asyncio.run(self._live()), name="mainspring-client", daemon=True
        )

    def __enter__(self) -> Self:
        """Start the thread; raise whatever opening the client raised."""
        self._thread.start()
        self._opened.result()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Close the client and end the thread."""
        if self._thread.is_alive():
            self._loop.call_soon_threadsafe(self._closing.set)
            self._thread.join()

    @property
    def client(self) -> AsyncClient:
        """Return the client behind; its coroutines run by ``call`` only."""
        return self._opened.result()

    def call(self, coroutine: Coroutine[Any, Any, T]) -> T:
        """Run a coroutine over there and return its result; Ctrl-C here cancels it there."""
        if not self._thread.is_alive():
            coroutine.close()
            raise Conflict("this client is closed", hint="use it inside its with block")
        running = asyncio.run_coroutine_threadsafe(coroutine, self._loop)
        try:
            return running.result()
        except BaseException:
            running.cancel()
            raise

    async def _live(self) -> None:
        self._loop = asyncio.get_running_loop()
        self._closing = asyncio.Event()
        try:
            async with self._open_client() as client:
                self._opened.set_result(client)
                await self._closing.wait()
        except Exception as error:  # noqa: BLE001 - raised in the thread that opens
            if not self._opened.done():
                self._opened.set_exception(error)


class BlockingHandle(Generic[R]):
    """A submitted job; every method waits for its answer."""

    __slots__ = ("_handle", "_portal", "created", "id")

    def __init__(self, portal: Portal, handle: Handle[R]) -> None:
        """Face a handle; made by ``Client``."""
        self._portal = portal
        self._handle = handle
        self.id = handle.id
        self.created = handle.created

    def result(self, timeout: Duration | None = None) -> R:
        """Wait for the job's end and return what its handler returned."""
        return self._portal.call(self._handle.result(timeout))

    def get(self) -> JobView:
        """Return the job as it is now."""
        return self._portal.call(self._handle.get())

    def attempts(self) -> list[AttemptView]:
        """Return every attempt in order."""
        return self._portal.call(self._handle.attempts())

    def cancel(self, *, reason: str = "", force: bool = False) -> JobState:
        """Cancel the job; return the state it has now."""
        return self._portal.call(self._handle.cancel(reason=reason, force=force))

    def __repr__(self) -> str:
        """Name the job."""
        return f"<BlockingHandle {self.id}>"


class Client:
    """``AsyncClient`` for code without an event loop: the same methods, each of which waits."""

    def __init__(self, portal: Portal) -> None:
        """Face the client behind an entered portal."""
        self._portal = portal
        self._client = portal.client

    @overload
    def submit(self, wanted: Call[R], /) -> BlockingHandle[R]: ...

    @overload
    def submit(
        self, wanted: str, payload: Any = None, /, **options: Any
    ) -> BlockingHandle[Any]: ...

    def submit(
        self, wanted: Call[Any] | str, payload: Any = None, /, **options: Any
    ) -> BlockingHandle[Any]:
        """Submit a call of a handler, or a kind by its name with a payload and options."""
        if isinstance(wanted, str):
            coroutine = self._client.submit(wanted, payload, **options)
        else:
            coroutine = self._client.submit(wanted)
        return BlockingHandle(self._portal, self._portal.call(coroutine))

    def submit_many(self, calls: Sequence[Call[R]]) -> list[BlockingHandle[R]]:
        """Submit calls in one transaction: all of them or none."""
        handles = self._portal.call(self._client.submit_many(calls))
        return [BlockingHandle(self._portal, handle) for handle in handles]

    def handle(self, job_id: str, job: Job[..., R] | None = None) -> BlockingHandle[R]:
        """Return a handle of a job that was submitted elsewhere."""
        return BlockingHandle(self._portal, self._client.handle(job_id, job))

    def get(self, job_id: str) -> JobView:
        """Return a job, or raise ``NotFound``."""
        return self._portal.call(self._client.get(job_id))

    def attempts(self, job_id: str) -> list[AttemptView]:
        """Return every attempt of a job in order."""
        return self._portal.call(self._client.attempts(job_id))

    def logs(
        self, job_id: str, *, after: tuple[int, int] | None = None, limit: int = 500
    ) -> list[LogLine]:
        """Return a page of what a job's handler logged, after (attempt, sequence)."""
        return self._portal.call(self._client.logs(job_id, after=after, limit=limit))

    def wait(self, job_id: str, timeout: Duration | None = None) -> JobView:
        """Return a job once it has ended, however; raise ``WaitTimedOut`` after the timeout."""
        return self._portal.call(self._client.wait(job_id, timeout))

    def result(self, job_id: str, timeout: Duration | None = None) -> Any:
        """Wait for a job's end and return its result as plain JSON values."""
        return self._portal.call(self._client.result(job_id, timeout))

    def cancel(self, job_id: str, *, reason: str = "", force: bool = False) -> JobState:
        """Cancel a job; return the state it has now."""
        return self._portal.call(self._client.cancel(job_id, reason=reason, force=force))

    def replay(self, job_id: str, *, payload: Any = None) -> bool:
        """Bring a dead letter back, with another payload if one is given; False: it is none."""
        return self._portal.call(self._client.replay(job_id, payload=payload))
