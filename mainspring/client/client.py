"""The client for code on an event loop, over one door; ``blocking`` has its twin face.

>>> handle = await client.submit(send_receipt.call(order_id=7))
>>> await handle.aresult(timeout="1m")
'msg-1'
"""

import asyncio
from collections.abc import AsyncIterator, Collection, Iterable
from datetime import datetime
from os import PathLike
from pathlib import Path
from typing import Any, Final, TypeVar, Unpack, overload

from mainspring.app.declare import Call, Job
from mainspring.app.files import FileRef
from mainspring.app.handles import Handle, naming_duplicates
from mainspring.app.options import Options
from mainspring.app.results import Duration
from mainspring.client import questions
from mainspring.client.batches import Completing, chunks, with_handles
from mainspring.client.finding import AsyncSearch, Search, operation
from mainspring.client.following import Event, Following
from mainspring.client.operations import AsyncOperations
from mainspring.client.schedules import AsyncCalendars, AsyncSchedules
from mainspring.client.webhooks import AsyncWebhooks
from mainspring.domain.errors import MainspringError
from mainspring.domain.job import AttemptView, HandlerInfo, JobView, Page, QueueView, WorkerView
from mainspring.domain.limits import BULK_JOBS_MAX, SUBMIT_JOBS_MAX
from mainspring.domain.outcome import LogLine
from mainspring.domain.states import JobState
from mainspring.ports.door import Door
from mainspring.ports.gateway import Operation

R = TypeVar("R")
#: Inside the namespaces ``list`` is a method.
list_ = list
_PAGE: Final = 500


class AsyncJobs:
    """Jobs by their ids: ``client.jobs``."""

    def __init__(self, door: Door) -> None:
        """Ask through ``door``."""
        self._door = door

    async def get(self, job_id: str) -> JobView:
        """Return a job as it is now, or raise ``NotFound``."""
        return await self._door.aask(questions.get(job_id))

    async def list(
        self,
        *,
        states: Collection[JobState | str] = (),
        kinds: Collection[str] = (),
        queues: Collection[str] = (),
        limit: int = _PAGE,
        before: bytes | None = None,
    ) -> Page:
        """Return a page of jobs, newest first; ``before`` continues from ``next_before``."""
        wanted = questions.job_filter(states, kinds, queues)
        return await self._door.aask(questions.page(wanted, limit, before))

    def find(self, query: str) -> AsyncSearch:
        """Return a search, newest first; nothing is sent before it is looked through.

        >>> async for job in client.jobs.find("state:dead kind:charge created:<1d"):
        ...     print(show_job(job.id))
        """
        return AsyncSearch(self._door, query)

    async def wait(self, job_id: str, timeout: Duration | None = None) -> JobView:
        """Return a job once it has ended, however; raise ``ResultTimeout`` after the timeout."""
        return await self._door.aask(questions.wait(job_id, timeout))

    def follow(self, job_id: str, timeout: Duration | None = None) -> AsyncIterator[Event]:
        """Yield what happens to a job, from now until it has ended: state, progress, log.

        >>> async for event in client.jobs.follow(job_id):
        ...     print(event.kind, event.data)
        """
        return self._events(Following(job_id, timeout))

    async def attempts(self, job_id: str) -> "list_[AttemptView]":
        """Return every attempt of a job in order."""
        return await self._door.aask(questions.attempts(job_id))

    async def logs(
        self, job_id: str, *, after: tuple[int, int] | None = None, limit: int = _PAGE
    ) -> "list_[LogLine]":
        """Return a page of what a job's handler logged, after (attempt, sequence)."""
        return await self._door.aask(questions.logs(job_id, after, limit))

    async def cancel(self, job_id: str, *, reason: str = "", force: bool = False) -> JobState:
        """Cancel a job; return the state it has now. One that has ended stays as it is."""
        return await self._door.aask(questions.cancel(self._door, job_id, reason, force=force))

    async def retry(self, job_id: str) -> bool:
        """Make a waiting job due now; False: it was not waiting."""
        return await self._door.aask(questions.retry(self._door, job_id))

    async def replay(self, job_id: str, *, payload: Any = None) -> bool:
        """Bring a dead letter back, with another payload if one is given; False: it is none."""
        return await self._door.aask(questions.replay(self._door, job_id, payload))

    async def purge(self, *job_ids: str) -> int:
        """Delete dead letters for good; return how many."""
        return await self._door.aask(questions.purge(self._door, job_ids))

    async def _events(self, following: Following) -> AsyncIterator[Event]:
        while not following.has_ended:
            for event in await self._door.aask(following.step):
                yield event


class AsyncQueues:
    """Queues: ``client.queues``."""

    def __init__(self, door: Door) -> None:
        """Ask through ``door``."""
        self._door = door

    async def list(self) -> "list_[QueueView]":
        """Return the queues with what is in them now."""
        return await self._door.aask(questions.queues)

    async def pause(self, queue: str, *, reason: str = "") -> bool:
        """Hand out nothing more of this queue; False: it was paused already."""
        return await self._door.aask(questions.pause(self._door, queue, reason))

    async def resume(self, queue: str) -> bool:
        """Hand out jobs of this queue again; False: it was not paused."""
        return await self._door.aask(questions.resume(self._door, queue))


class AsyncWorkers:
    """Workers: ``client.workers``."""

    def __init__(self, door: Door) -> None:
        """Ask through ``door``."""
        self._door = door

    async def list(self) -> "list_[WorkerView]":
        """Return worker sessions, newest first."""
        return await self._door.aask(questions.workers)

    async def drain(self, worker_id: str) -> bool:
        """Ask a worker to claim no more, finish and end; False: there is no such worker."""
        return await self._door.aask(questions.drain(self._door, worker_id))


class AsyncHandlers:
    """Declared kinds: ``client.handlers``."""

    def __init__(self, door: Door) -> None:
        """Ask through ``door``."""
        self._door = door

    async def list(self) -> "list_[HandlerInfo]":
        """Return every kind that a worker has declared."""
        return await self._door.aask(questions.handlers)

    async def get(self, kind: str) -> HandlerInfo:
        """Return one declared kind with its schema, or raise ``NotFound``."""
        return await self._door.aask(questions.handler(kind))


class AsyncFiles:
    """Files that handlers saved: ``client.files``."""

    def __init__(self, door: Door) -> None:
        """Ask through ``door``."""
        self._door = door

    async def read(self, file: FileRef) -> bytes:
        """Return the bytes of a file; ``NotFound`` when its job is no longer kept.

        >>> await client.files.read(await handle.aresult())
        """
        return await self._door.aask(questions.file(file))

    async def save(self, file: FileRef, path: str | PathLike[str]) -> None:
        """Write a file's bytes to ``path``."""
        body = await self.read(file)
        await asyncio.to_thread(Path(path).write_bytes, body)


class AsyncOps:
    """One action on everything that a search finds: ``client.ops``.

    >>> op = await client.ops.replay("state:dead kind:charge", rate="20/s", dry_run=True)
    >>> print(op.matched)

    What matches is frozen first: jobs that were submitted or ended after ``until`` are left out.
    With ``dry_run`` nothing is changed; hand its ``until`` to the real one to mean the same jobs.
    """

    def __init__(self, door: Door) -> None:
        """Ask through ``door``."""
        self._door = door

    async def replay(
        self,
        query: str | Search,
        *,
        rate: str | None = None,
        limit: int = BULK_JOBS_MAX,
        until: datetime | None = None,
        dry_run: bool = False,
    ) -> Operation:
        """Bring dead letters back, oldest first."""
        return await self._door.aask(
            operation(
                self._door,
                "replay",
                query,
                rate=rate,
                limit=limit,
                until=until,
                dry_run=dry_run,
            )
        )

    async def retry(
        self,
        query: str | Search,
        *,
        rate: str | None = None,
        limit: int = BULK_JOBS_MAX,
        until: datetime | None = None,
        dry_run: bool = False,
    ) -> Operation:
        """Make waiting jobs due now, and bring dead letters back."""
        return await self._door.aask(
            operation(
                self._door,
                "retry",
                query,
                rate=rate,
                limit=limit,
                until=until,
                dry_run=dry_run,
            )
        )

    async def cancel(  # noqa: PLR0913 - options, all by name
        self,
        query: str | Search,
        *,
        rate: str | None = None,
        limit: int = BULK_JOBS_MAX,
        until: datetime | None = None,
        dry_run: bool = False,
        reason: str = "",
        force: bool = False,
    ) -> Operation:
        """Cancel jobs that have not ended."""
        return await self._door.aask(
            operation(
                self._door,
                "cancel",
                query,
                rate=rate,
                limit=limit,
                until=until,
                dry_run=dry_run,
                reason=reason,
                force=force,
            )
        )

    async def purge(
        self,
        query: str | Search,
        *,
        rate: str | None = None,
        limit: int = BULK_JOBS_MAX,
        until: datetime | None = None,
        dry_run: bool = False,
    ) -> Operation:
        """Delete dead letters for good."""
        return await self._door.aask(
            operation(
                self._door,
                "purge",
                query,
                rate=rate,
                limit=limit,
                until=until,
                dry_run=dry_run,
            )
        )


class AsyncClient:
    """All that an application asks of Mainspring, awaited."""

    def __init__(self, door: Door) -> None:
        """Ask through ``door``, which its opener closes."""
        self.door = door
        self.jobs: AsyncJobs = AsyncJobs(door)
        self.ops: AsyncOps = AsyncOps(door)
        self.operations: AsyncOperations = AsyncOperations(door)
        self.queues: AsyncQueues = AsyncQueues(door)
        self.workers: AsyncWorkers = AsyncWorkers(door)
        self.handlers: AsyncHandlers = AsyncHandlers(door)
        self.files: AsyncFiles = AsyncFiles(door)
        self.schedules: AsyncSchedules = AsyncSchedules(door)
        self.calendars: AsyncCalendars = AsyncCalendars(door)
        self.webhooks: AsyncWebhooks = AsyncWebhooks(door)

    @overload
    async def submit(self, wanted: Call[R], /, **options: Unpack[Options]) -> Handle[R]: ...

    @overload
    async def submit(
        self, wanted: str, payload: Any = None, /, **options: Unpack[Options]
    ) -> Handle[Any]: ...

    async def submit(
        self, wanted: Call[Any] | str, payload: Any = None, /, **options: Unpack[Options]
    ) -> Handle[Any]:
        """Submit a call of a handler, or a kind by its name with a payload.

        >>> await client.submit(greet.call("Ada"), delay="15m")
        >>> await client.submit("greet", {"name": "Ada"}, queue="mail", key="hello-ada")
        """
        submission = questions.submission_of(wanted, payload, options)
        codec = questions.codec_of(wanted)
        with naming_duplicates(self.door, codec):
            (accepted,) = await self.door.asubmit([submission])
        return questions.handle(self.door, accepted, codec)

    async def submit_many(
        self, calls: Iterable[Call[R]], *, chunk: int = SUBMIT_JOBS_MAX
    ) -> list_[Handle[R]]:
        """Submit calls; each chunk is one transaction, in which all are accepted or none.

        >>> await client.submit_many(resize.call(url=url) for url in urls)

        When a chunk is refused, the error's ``details["submitted"]`` has the ids of those before.
        """
        handles: list_[Handle[R]] = []
        try:
            for part in chunks(calls, chunk):
                accepted = await self.door.asubmit([call.submission for call in part])
                pairs = zip(accepted, part, strict=True)
                handles += [
                    questions.handle(self.door, item, questions.codec_of(call))
                    for item, call in pairs
                ]
        except MainspringError as error:
            raise with_handles(error, handles) from None
        return handles

    def as_completed(
        self, handles: Iterable[Handle[R]], timeout: Duration | None = None
    ) -> AsyncIterator[Handle[R]]:
        """Yield handles as their jobs end, however; ``ResultTimeout`` when some do not in time."""
        return self._completed(Completing(handles, timeout))

    @overload
    def handle(self, job_id: str) -> Handle[Any]: ...

    @overload
    def handle(self, job_id: str, job: Job[..., R]) -> Handle[R]: ...

    def handle(self, job_id: str, job: Job[..., Any] | None = None) -> Handle[Any]:
        """Return a handle of a job that was submitted elsewhere."""
        return questions.handle_for(self.door, job_id, job)

    async def _completed(self, completing: Completing[R]) -> AsyncIterator[Handle[R]]:
        while completing.is_waiting:
            for handle in await self.door.aask(completing.step):
                yield handle
