"""What happens to one job, as events: its states, its progress and its log, until it ends."""

from datetime import datetime
from typing import Any, Final, Literal

import msgspec

from mainspring.app.durations import milliseconds
from mainspring.app.results import Duration
from mainspring.domain.errors import ResultTimeout
from mainspring.domain.ids import parse_job, show_job
from mainspring.domain.job import JobView
from mainspring.domain.limits import PAGE_ITEMS_MAX
from mainspring.domain.outcome import ErrorInfo, LogLine
from mainspring.domain.states import FINAL
from mainspring.ports.clock import monotonic
from mainspring.ports.gateway import ClientGateway

#: How often the log of a running job is looked at while nothing else changes.
_LOOK_SECONDS: Final = 0.5


class Event(msgspec.Struct, frozen=True):
    """One thing that happened to a job.

    ``state``: ``state``, ``attempt``, ``reason``, and with an error ``error_type`` and
    ``error_message``. ``progress``: ``done``, ``total``, ``note``. ``log``: ``level``,
    ``message``, ``fields``, ``attempt``, ``at``.
    """

    kind: Literal["state", "progress", "log"]
    data: dict[str, Any]
    job_id: str


class Following:
    """Asks again and again what is new; ``has_ended`` once the final state was told."""

    def __init__(self, job_id: str, timeout: Duration | None = None) -> None:
        """Follow this job from where it is now; its log from the beginning."""
        self._raw = parse_job(job_id)
        self._id = show_job(self._raw)
        self._timeout = timeout
        self._until: float | None = None
        if timeout is not None:
            self._until = monotonic() + milliseconds(timeout, name="timeout") / 1_000
        self._seen: JobView | None = None
        self._cursor: tuple[int, int] | None = None
        self.has_ended: bool = False

    async def step(self, gateway: ClientGateway) -> list[Event]:
        """Return what is new, as soon as something is, or nothing after a while."""
        seen = self._seen
        seconds = _LOOK_SECONDS
        if self._until is not None and seen is not None:
            left = self._until - monotonic()
            if left <= 0:
                raise ResultTimeout(
                    f"{self._id} is still {seen.state.value} after {self._timeout}; it goes on",
                    hint="follow it again, or cancel it",
                    details={"job_id": self._id, "state": seen.state.value},
                )
            seconds = min(seconds, left)
        job = await gateway.wait_for_change(self._raw, seen, seconds)
        self._seen = job
        lines = [self._logged(line) for line in await self._new_lines(gateway)]
        changes = self._changes(seen, job)
        if job.state in FINAL:
            # Its last lines came before its end.
            self.has_ended = True
            return lines + changes
        return changes + lines

    async def _new_lines(self, gateway: ClientGateway) -> list[LogLine]:
        found: list[LogLine] = []
        while True:
            page = await gateway.list_logs(self._raw, after=self._cursor, limit=PAGE_ITEMS_MAX)
            found += page
            if page:
                self._cursor = (page[-1].attempt, page[-1].sequence)
            if len(page) < PAGE_ITEMS_MAX:
                return found

    def _changes(self, seen: JobView | None, job: JobView) -> list[Event]:
        found: list[Event] = []
        if job.progress_done is not None and _progress(job) != (seen and _progress(seen)):
            done, total, note = _progress(job)
            data = {"done": done, "total": total, "note": note or ""}
            found.append(Event("progress", data, self._id))
        if seen is None or (seen.state, seen.attempt) != (job.state, job.attempt):
            place = len(found) if job.state in FINAL else 0
            found.insert(place, Event("state", _state(job), self._id))
        return found

    def _logged(self, line: LogLine) -> Event:
        fields = msgspec.json.decode(line.fields) if line.fields else {}
        at: datetime = line.at
        data = {"level": line.level, "message": line.message, "fields": fields}
        return Event("log", data | {"attempt": line.attempt, "at": at}, self._id)


def _progress(job: JobView) -> tuple[float | None, float | None, str | None]:
    return job.progress_done, job.progress_total, job.progress_note


def _state(job: JobView) -> dict[str, Any]:
    data: dict[str, Any] = {
        "state": job.state.value,
        "attempt": job.attempt,
        "reason": job.reason,
    }
    if job.error is not None:
        error = msgspec.json.decode(job.error, type=ErrorInfo)
        data |= {"error_type": error.type, "error_message": error.message}
    return data
