"""A submitted job in the hands of who submitted it: one handle with two faces.

>>> handle = send_receipt.submit(order_id=7)
>>> handle.result(timeout="1m")
'msg-1'

The plain methods block; those that begin with ``a`` are awaited.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from mainspring.app.results import Duration, result_of, wait_for_end
from mainspring.domain.errors import DuplicateJob
from mainspring.domain.ids import parse_job, show_job
from mainspring.domain.job import AttemptView, JobView
from mainspring.domain.outcome import LogLine
from mainspring.domain.states import JobState
from mainspring.ports.door import Asking, Door
from mainspring.ports.gateway import ClientGateway

if TYPE_CHECKING:
    from mainspring.app.codec import Codec

R = TypeVar("R")
_PAGE: int = 500


class Handle(Generic[R]):
    """A submitted job: its id, and ways to ask about it. ``R`` is what its handler returns."""

    __slots__ = ("_codec", "_door", "_raw", "created")

    def __init__(self, door: Door, job_id: bytes, *, codec: "Codec | None", created: bool) -> None:
        """Name a job; made by whatever submits."""
        self._door = door
        self._raw = job_id
        self._codec = codec
        #: False when a submission key or unique key found an earlier job.
        self.created: bool = created

    @property
    def id(self) -> str:
        """Return the job's id as people see it: ``job_…``."""
        # Made when asked for: who submits many jobs rarely looks at each.
        return show_job(self._raw)

    @property
    def raw(self) -> bytes:
        """Return the id as stores know it."""
        return self._raw

    def result(self, timeout: Duration | None = None) -> R:
        """Wait for the job's end and return what its handler returned.

        Raises ``JobFailed`` when it ended otherwise, ``ResultTimeout`` after the timeout.
        """
        found: R = result_of(self._door.ask(self._ending(timeout)), self._codec)
        return found

    async def aresult(self, timeout: Duration | None = None) -> R:
        """Wait for the job's end and return what its handler returned; raises as ``result``."""
        found: R = result_of(await self._door.aask(self._ending(timeout)), self._codec)
        return found

    def get(self) -> JobView:
        """Return the job as it is now."""
        return self._door.ask(self._view)

    async def aget(self) -> JobView:
        """Return the job as it is now."""
        return await self._door.aask(self._view)

    def attempts(self) -> list[AttemptView]:
        """Return every attempt in order."""
        return self._door.ask(self._attempts)

    async def aattempts(self) -> list[AttemptView]:
        """Return every attempt in order."""
        return await self._door.aask(self._attempts)

    def logs(self, *, after: tuple[int, int] | None = None, limit: int = _PAGE) -> list[LogLine]:
        """Return a page of what its handler logged, after (attempt, sequence)."""
        return self._door.ask(self._logs(after, limit))

    async def alogs(
        self, *, after: tuple[int, int] | None = None, limit: int = _PAGE
    ) -> list[LogLine]:
        """Return a page of what its handler logged, after (attempt, sequence)."""
        return await self._door.aask(self._logs(after, limit))

    def cancel(self, *, reason: str = "", force: bool = False) -> JobState:
        """Cancel the job; return the state it has now. One that has ended stays as it is."""
        return self._door.ask(self._cancelling(reason, force=force))

    async def acancel(self, *, reason: str = "", force: bool = False) -> JobState:
        """Cancel the job; return the state it has now. One that has ended stays as it is."""
        return await self._door.aask(self._cancelling(reason, force=force))

    def __eq__(self, other: object) -> bool:
        """Two handles are the same when they name the same job."""
        return isinstance(other, Handle) and other.id == self.id

    def __hash__(self) -> int:
        """Hash the job's id."""
        return hash(self.id)

    def __repr__(self) -> str:
        """Name the job."""
        return f"<Handle {self.id}>"

    # --- The questions, once for both faces -----------------------------------------------------

    async def _view(self, gateway: ClientGateway) -> JobView:
        return await gateway.get_job(self._raw)

    async def _attempts(self, gateway: ClientGateway) -> list[AttemptView]:
        return await gateway.list_attempts(self._raw)

    def _ending(self, timeout: Duration | None) -> Asking[JobView]:
        return lambda gateway: wait_for_end(gateway, self._raw, timeout)

    def _logs(self, after: tuple[int, int] | None, limit: int) -> Asking[list[LogLine]]:
        async def ask(gateway: ClientGateway) -> list[LogLine]:
            return await gateway.list_logs(self._raw, after=after, limit=limit)

        return ask

    def _cancelling(self, reason: str, *, force: bool) -> Asking[JobState]:
        async def ask(gateway: ClientGateway) -> JobState:
            return await cancel_job(
                gateway, self._raw, reason=reason, force=force, actor=self._door.actor
            )

        return ask


async def cancel_job(
    gateway: ClientGateway, job_id: bytes, *, reason: str, force: bool, actor: str
) -> JobState:
    """Cancel one job; return the state that it has now."""
    results = await gateway.cancel([job_id], reason=reason, force=force, actor=actor)
    state = results[0].state
    return state if state is not None else (await gateway.get_job(job_id)).state


@contextmanager
def naming_duplicates(door: Door, codec: "Codec | None") -> Iterator[None]:
    """Give a ``DuplicateJob`` that passes the handle of the job that is live."""
    try:
        yield
    except DuplicateJob as error:
        if error.job_id:
            error.handle = handle_of(door, error.job_id, codec)
        raise


def handle_of(door: Door, job_id: str, codec: "Codec | None" = None) -> Handle[Any]:
    """Return a handle of a job that was submitted elsewhere."""
    return Handle(door, parse_job(job_id), codec=codec, created=False)
