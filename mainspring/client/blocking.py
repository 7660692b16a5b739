"""The client for code without an event loop: the same questions, each of which waits."""

from collections.abc import Collection, Iterable, Iterator
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
from mainspring.client.blocking_operations import BlockingOperations
from mainspring.client.blocking_schedules import BlockingCalendars, BlockingSchedules
from mainspring.client.blocking_webhooks import BlockingWebhooks
from mainspring.client.finding import BlockingSearch, Search, operation
from mainspring.client.following import Event, Following
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


class BlockingJobs:
    """Jobs by their ids: ``client.jobs``."""

    def __init__(self, door: Door) -> None:
        """Ask through ``door``."""
        self._door = door

    def get(self, job_id: str) -> JobView:
        """Return a job as it is now, or raise ``NotFound``."""
        return self._door.ask(questions.get(job_id))

    def list(
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
        return self._door.ask(questions.page(wanted, limit, before))

    def find(self, query: str) -> BlockingSearch:
        """Return a search, newest first; nothing is sent before it is looked through.

        >>> for job in client.jobs.find("state:dead kind:charge created:<1d"):
        ...     print(show_job(job.id))
        """
        return BlockingSearch(self._door, query)

    def wait(self, job_id: str, timeout: Duration | None = None) -> JobView:
        """Return a job once it has ended, however; raise ``ResultTimeout`` after the timeout."""
        return self._door.ask(questions.wait(job_id, timeout))

    def follow(self, job_id: str, timeout: Duration | None = None) -> Iterator[Event]:
        """Yield what happens to a job, from now until it has ended: state, progress, log.

        >>> for event in client.jobs.follow(job_id):
        ...     print(event.kind, event.data)
        """
        return self._events(Following(job_id, timeout))

    def attempts(self, job_id: str) -> "list_[AttemptView]":
        """Return every attempt of a job in order."""
        return self._door.ask(questions.attempts(job_id))

    def logs(
        self, job_id: str, *, after: tuple[int, int] | None = None, limit: int = _PAGE
    ) -> "list_[LogLine]":
        """Return a page of what a job's handler logged, after (attempt, sequence)."""
        return self._door.ask(questions.logs(job_id, after, limit))

    def cancel(self, job_id: str, *, reason: str = "", force: bool = False) -> JobState:
        """Cancel a job; return the state it has now. One that has ended stays as it is."""
        return self._door.ask(questions.cancel(self._door, job_id, reason, force=force))

    def retry(self, job_id: str) -> bool:
        """Make a waiting job due now; False: it was not waiting."""
        return self._door.ask(questions.retry(self._door, job_id))

    def replay(self, job_id: str, *, payload: Any = None) -> bool:
        """Bring a dead letter back, with another payload if one is given; False: it is none."""
        return self._door.ask(questions.replay(self._door, job_id, payload))

    def purge(self, *job_ids: str) -> int:
        """Delete dead letters for good; return how many."""
        return self._door.ask(questions.purge(self._door, job_ids))

    def _events(self, following: Following) -> Iterator[Event]:
        while not following.has_ended:
            yield from self._door.ask(following.step)


class BlockingQueues:
    """Queues: ``client.queues``."""

    def __init__(self, door: Door) -> None:
        """Ask through ``door``."""
        self._door = door

    def list(self) -> "list_[QueueView]":
        """Return the queues with what is in them now."""
        return self._door.ask(questions.queues)

    def pause(self, queue: str, *, reason: str = "") -> bool:
        """Hand out nothing more of this queue; False: it was paused already."""
        return self._door.ask(questions.pause(self._door, queue, reason))

    def resume(self, queue: str) -> bool:
        """Hand out jobs of this queue again; False: it was not paused."""
        return self._door.ask(questions.resume(self._door, queue))


class BlockingWorkers:
    """Workers: ``client.workers``."""

    def __init__(self, door: Door) -> None:
        """Ask through ``door``."""
        self._door = door

    def list(self) -> "list_[WorkerView]":
        """Return worker sessions, newest first."""
        return self._door.ask(questions.workers)

    def drain(self, worker_id: str) -> bool:
        """Ask a worker to claim no more, finish and end; False: there is no such worker."""
        return self._door.ask(questions.drain(self._door, worker_id))


class BlockingHandlers:
    """Declared kinds: ``client.handlers``."""

    def __init__(self, door: Door) -> None:
        """Ask through ``door``."""
        self._door = door

    def list(self) -> "list_[HandlerInfo]":
        """Return every kind that a worker has declared."""
        return self._door.ask(questions.handlers)

    def get(self, kind: str) -> HandlerInfo:
        """Return one declared kind with its schema, or raise ``NotFound``."""
        return self._door.ask(questions.handler(kind))


class BlockingFiles:
    """Files that handlers saved: ``client.files``."""

    def __init__(self, door: Door) -> None:
        """Ask through ``door``."""
        self._door = door

    def read(self, file: FileRef) -> bytes:
        """Return the bytes of a file; ``NotFound`` when its job is no longer kept.

        >>> client.files.read(handle.result())
        """
        return self._door.ask(questions.file(file))

    def save(self, file: FileRef, path: str | PathLike[str]) -> None:
        """Write a file's bytes to ``path``."""
        body = self.read(file)
        Path(path).write_bytes(body)


class BlockingOps:
    """One action on everything that a search finds: ``client.ops``.

    >>> op = client.ops.replay("state:dead kind:charge", rate="20/s", dry_run=True)
    >>> print(op.matched)

    What matches is frozen first: jobs that were submitted or ended after ``until`` are left out.
    With ``dry_run`` nothing is changed; hand its ``until`` to the real one to mean the same jobs.
    """

    def __init__(self, door: Door) -> None:
        """Ask through ``door``."""
        self._door = door

    def replay(
        self,
        query: str | Search,
        *,
        rate: str | None = None,
        limit: int = BULK_JOBS_MAX,
        until: datetime | None = None,
        dry_run: bool = False,
    ) -> Operation:
        """Bring dead letters back, oldest first."""
        return self._door.ask(
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

    def retry(
        self,
        query: str | Search,
        *,
        rate: str | None = None,
        limit: int = BULK_JOBS_MAX,
        until: datetime | None = None,
        dry_run: bool = False,
    ) -> Operation:
        """Make waiting jobs due now, and bring dead letters back."""
        return self._door.ask(
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

    def cancel(  # noqa: PLR0913 - options, all by name
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
        return self._door.ask(
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

    def purge(
        self,
        query: str | Search,
        *,
        rate: str | None = None,
        limit: int = BULK_JOBS_MAX,
        until: datetime | None = None,
        dry_run: bool = False,
    ) -> Operation:
        """Delete dead letters for good."""
        return self._door.ask(
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


class Client:
    """``AsyncClient`` for code without an event loop: the same methods, each of which waits."""

    def __init__(self, door: Door) -> None:
        """Ask through ``door``, which its opener closes."""
        self.door = door
        self.jobs: BlockingJobs = BlockingJobs(door)
        self.ops: BlockingOps = BlockingOps(door)
        self.operations: BlockingOperations = BlockingOperations(door)
        self.queues: BlockingQueues = BlockingQueues(door)
        self.workers: BlockingWorkers = BlockingWorkers(door)
        self.handlers: BlockingHandlers = BlockingHandlers(door)
        self.files: BlockingFiles = BlockingFiles(door)
        self.schedules: BlockingSchedules = BlockingSchedules(door)
        self.calendars: BlockingCalendars = BlockingCalendars(door)
        self.webhooks: BlockingWebhooks = BlockingWebhooks(door)

    @overload
    def submit(self, wanted: Call[R], /, **options: Unpack[Options]) -> Handle[R]: ...

    @overload
    def submit(
        self, wanted: str, payload: Any = None, /, **options: Unpack[Options]
    ) -> Handle[Any]: ...

    def submit(
        self, wanted: Call[Any] | str, payload: Any = None, /, **options: Unpack[Options]
    ) -> Handle[Any]:
        """Submit a call of a handler, or a kind by its name with a payload.

        >>> client.submit(greet.call("Ada"), delay="15m")
        >>> client.submit("greet", {"name": "Ada"}, queue="mail", key="hello-ada")
        """
        submission = questions.submission_of(wanted, payload, options)
        codec = questions.codec_of(wanted)
        with naming_duplicates(self.door, codec):
            (accepted,) = self.door.submit([submission])
        return questions.handle(self.door, accepted, codec)

    def submit_many(
        self, calls: Iterable[Call[R]], *, chunk: int = SUBMIT_JOBS_MAX
    ) -> list_[Handle[R]]:
        """Submit calls; each chunk is one transaction, in which all are accepted or none.

        >>> client.submit_many(resize.call(url=url) for url in urls)

        When a chunk is refused, the error's ``details["submitted"]`` has the ids of those before.
        """
        handles: list_[Handle[R]] = []
        try:
            for part in chunks(calls, chunk):
                accepted = self.door.submit([call.submission for call in part])
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
    ) -> Iterator[Handle[R]]:
        """Yield handles as their jobs end, however; ``ResultTimeout`` when some do not in time."""
        return self._completed(Completing(handles, timeout))

    @overload
    def handle(self, job_id: str) -> Handle[Any]: ...

    @overload
    def handle(self, job_id: str, job: Job[..., R]) -> Handle[R]: ...

    def handle(self, job_id: str, job: Job[..., Any] | None = None) -> Handle[Any]:
        """Return a handle of a job that was submitted elsewhere."""
        return questions.handle_for(self.door, job_id, job)

    def _completed(self, completing: Completing[R]) -> Iterator[Handle[R]]:
        while completing.is_waiting:
            yield from self.door.ask(completing.step)
