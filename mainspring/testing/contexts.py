"""A context to run a handler with, alone: it keeps what the handler says.

>>> ctx = context(attempt=2)
>>> export.run(spec, ctx=ctx)
>>> [line.message for line in ctx.lines]
['page written']
"""

from datetime import UTC, datetime
from typing import Any, NamedTuple

from mainspring.app.context import Context, Deps
from mainspring.app.files import FileRef, read_file
from mainspring.app.fires import Fire, MissedFires
from mainspring.domain.errors import NaiveDatetime
from mainspring.domain.ids import SCHEDULE, parse_job, show
from mainspring.domain.job import DEFAULT_MAX_ATTEMPTS, DEFAULT_QUEUE, DEFAULT_TENANT
from mainspring.domain.schedule import Cause
from mainspring.ports.clock import utc_now
from mainspring.ports.entropy import new_job_id


class Line(NamedTuple):
    """One line that a handler logged."""

    level: str
    message: str
    fields: dict[str, object]


class Moved(NamedTuple):
    """One report of progress."""

    done: float
    total: float | None
    note: str


class RecordingContext(Context[Deps]):
    """A context that belongs to no worker; what the handler tells is found in it."""

    def __init__(self, **facts: Any) -> None:
        """Take the facts of a context; made by ``context``."""
        self.lines: list[Line] = []
        self.moves: list[Moved] = []
        #: How many signs of life the handler showed by ``ctx.heartbeat()``.
        self.heartbeats = 0
        #: What the handler saved, by name.
        self.files: dict[str, bytes] = {}
        self._is_cancelled = False
        super().__init__(
            **facts,
            log=lambda level, message, fields: self.lines.append(Line(level, message, fields)),
            progress=lambda done, total, note: self.moves.append(Moved(done, total, note)),
            cancelled=lambda: self._is_cancelled,
            heartbeat=self._beat,
            files=self,
        )

    def cancel(self) -> None:
        """Let the handler see that it should stop."""
        self._is_cancelled = True

    def save(self, path: str, name: str) -> FileRef:
        """Keep the file here; the reference has its name only."""
        self.files[name] = read_file(path)
        return FileRef(name)

    async def asave(self, path: str, name: str) -> FileRef:
        """Keep the file here; the reference has its name only."""
        return self.save(path, name)

    def _beat(self) -> None:
        self.heartbeats += 1


def context(  # noqa: PLR0913 - facts, all by name
    *,
    deps: Any = None,
    attempt: int = 1,
    job_id: str | None = None,
    kind: str = "test",
    queue: str = DEFAULT_QUEUE,
    tenant: str = DEFAULT_TENANT,
    tries: int | None = None,
    max_attempts: int = DEFAULT_MAX_ATTEMPTS,
    effect_key: str | None = None,
    timeout_seconds: float = 300.0,
    now: datetime | None = None,
    is_cancelled: bool = False,
    fire: Fire | None = None,
) -> RecordingContext[Any]:
    """Return a context for ``job.run(..., ctx=context(...))``; every fact may be chosen."""
    at = utc_now() if now is None else now
    made: RecordingContext[Any] = RecordingContext(
        job_id=new_job_id() if job_id is None else parse_job(job_id),
        attempt=attempt,
        kind=kind,
        queue=queue,
        tenant=tenant,
        tries=attempt if tries is None else tries,
        max_attempts=max_attempts,
        due_at=at,
        started_at=at,
        created_at=at,
        timeout_seconds=timeout_seconds,
        effect_key=effect_key,
        deps=deps,
        fire=fire,
    )
    if is_cancelled:
        made.cancel()
    return made


def fire(  # noqa: PLR0913 - facts, all by name
    nominal_at: datetime,
    *,
    schedule: str = "test",
    zone: str = "UTC",
    due_at: datetime | None = None,
    started_at: datetime | None = None,
    cause: Cause = Cause.SCHEDULE,
    sequence: int = 0,
    missed: MissedFires | None = None,
    previous_success_at: datetime | None = None,
) -> Fire:
    """Return a fire for ``context(fire=...)``: due and started when it was meant to be.

    >>> ctx = context(fire=fire(datetime(2027, 1, 31, 8, tzinfo=UTC), zone="Europe/Berlin"))
    >>> ctx.fire.local
    '2027-01-31T09:00:00'
    """
    if nominal_at.tzinfo is None:
        raise NaiveDatetime(f"nominal_at: {nominal_at.isoformat()} has no time zone")
    return Fire(
        schedule=schedule,
        schedule_id=show(SCHEDULE, bytes(16)),
        nominal_at=nominal_at.astimezone(UTC),
        due_at=due_at or nominal_at,
        started_at=started_at or due_at or nominal_at,
        zone=zone,
        cause=cause,
        sequence=sequence,
        missed=missed,
        previous_success_at=previous_success_at,
    )
