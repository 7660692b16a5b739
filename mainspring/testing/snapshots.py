"""What the kit shows: jobs as they stood when it looked, and what a drain did."""

from collections import Counter
from collections.abc import Callable, Sequence
from contextlib import suppress
from datetime import datetime, timedelta
from functools import cached_property
from typing import Any, Final

import msgspec

from mainspring.app.durations import words
from mainspring.app.handlers import Handler
from mainspring.domain.errors import MainspringError
from mainspring.domain.ids import show_job
from mainspring.domain.job import JobView, Priority
from mainspring.domain.outcome import ErrorInfo
from mainspring.domain.states import AttemptState, JobState
from mainspring.testing.world import Ended

_SHOWN_MAX: Final = 3


class Snapshot:
    """A job as it stood when the kit looked. ``view`` is what a client would have got."""

    def __init__(self, view: JobView, handler: Handler | None) -> None:
        """Read a view with the types of its handler."""
        self.view = view
        self._handler = handler
        self.id: str = show_job(view.id)
        self.kind: str = view.kind
        self.state: JobState = view.state
        self.reason: str | None = view.reason
        self.queue: str = view.queue
        self.priority = Priority(view.priority).name.lower()
        self.due_at: datetime = view.due_at
        #: How often it was handed out, and how many of these counted.
        self.attempt: int = view.attempt
        self.tries: int = view.tries
        self.key: str | None = view.submission_key
        self.progress: float | None = view.progress_done
        self.note: str | None = view.progress_note

    @property
    def delay(self) -> timedelta:
        """Return how long after its submission it is, or was, due."""
        return self.due_at - self.view.created_at

    @cached_property
    def args(self) -> dict[str, Any]:
        """Return the arguments that were submitted, in the types of the handler if they fit."""
        if self._handler is not None:
            with suppress(MainspringError):
                return self._handler.decode(self.view.payload)
        found = msgspec.json.decode(self.view.payload)
        return found if isinstance(found, dict) else {}

    @cached_property
    def result(self) -> Any:
        """Return what the handler returned, in its type; ``None`` while there is nothing."""
        if self._handler is not None:
            return self._handler.codec.decode_result(self.view.result)
        return None if self.view.result is None else msgspec.json.decode(self.view.result)

    @cached_property
    def error(self) -> ErrorInfo | None:
        """Return why the last attempt failed: ``type``, ``message``, ``traceback``, ``where``."""
        if self.view.error is None:
            return None
        return msgspec.json.decode(self.view.error, type=ErrorInfo)

    def __eq__(self, other: object) -> bool:
        """Compare the jobs as they stood."""
        return isinstance(other, Snapshot) and self.view == other.view

    def __hash__(self) -> int:
        """Follow the id."""
        return hash(self.view.id)

    def __repr__(self) -> str:
        """Tell what a failed assertion should show."""
        return f"<{self.words()}>"

    def words(self) -> str:
        """Write the job like a call, with its state and its last error."""
        given = ", ".join(f"{name}={value!r}" for name, value in self.args.items())
        why = f" ({self.reason})" if self.reason else ""
        error = f", {self.error.type}: {self.error.message}" if self.error else ""
        return f"{self.kind}({given}) {self.state.value}{why}{error}"


class Drained:
    """What a drain did: how many attempts ended in which way, and the jobs they belonged to.

    >>> result = mainspring.drain()
    >>> assert result.succeeded == 1 and result.dead == []
    """

    def __init__(
        self, ended: Sequence[Ended], look: Callable[[list[bytes]], list[Snapshot]]
    ) -> None:
        """Count what ended; ``look`` brings the jobs."""
        states = Counter(one.state for one in ended)
        closed = Counter(one.closed_as for one in ended)
        self._ended = tuple(ended)
        self._look = look
        #: Attempts that ended, whatever became of their jobs.
        self.attempts: int = len(ended)
        self.succeeded: int = states[JobState.SUCCEEDED]
        self.cancelled: int = states[JobState.CANCELLED]
        #: Attempts that will be followed by another one.
        self.retried: int = states[JobState.RETRYING]
        self.failed: int = closed[AttemptState.FAILED]
        self.timed_out: int = closed[AttemptState.TIMED_OUT]
        self.lost: int = closed[AttemptState.LOST]
        self.snoozed: int = sum(
            one.closed_as is AttemptState.RELEASED and one.state is JobState.SCHEDULED
            for one in ended
        )
        # Looked at now: nothing of it should have moved on when an assertion asks.
        self.dead: list[Snapshot] = self._of(JobState.DEAD)

    @cached_property
    def jobs(self) -> list[Snapshot]:
        """Return the jobs of these attempts, each once, as they stand when first asked for."""
        return self._look(list(dict.fromkeys(one.job_id for one in self._ended)))

    def _of(self, state: JobState) -> list[Snapshot]:
        ids = [one.job_id for one in self._ended if one.state is state]
        return self._look(list(dict.fromkeys(ids))) if ids else []

    def __bool__(self) -> bool:
        """Tell whether any attempt ended."""
        return bool(self._ended)

    def __repr__(self) -> str:
        """Tell what a failed assertion should show: the counts, and what went wrong."""
        counts = {
            "succeeded": self.succeeded,
            "failed": self.failed,
            "timed out": self.timed_out,
            "lost": self.lost,
            "retried": self.retried,
            "snoozed": self.snoozed,
            "cancelled": self.cancelled,
            "dead": len(self.dead),
        }
        told = ", ".join(f"{count} {name}" for name, count in counts.items() if count)
        attempts = "1 attempt" if self.attempts == 1 else f"{self.attempts} attempts"
        # On one line: pytest shows no others.
        troubled = [one.words() for one in self.jobs if one.error is not None][:_SHOWN_MAX]
        shown = "".join(f"; {one}" for one in troubled)
        return f"<Drained {attempts}: {told or 'nothing was due'}{shown}>"


def duration_words(duration: timedelta) -> str:
    """Return a duration as it would be written: ``10 m``."""
    milliseconds = round(duration.total_seconds() * 1_000)
    return words(milliseconds) if milliseconds >= 0 else f"-{words(-milliseconds)}"
