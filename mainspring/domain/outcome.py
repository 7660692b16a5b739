"""What a worker may report of an attempt. An outcome is a value; an exception means failure.

A worker reports what happened. What happens next (retry, dead letter, cancelled) is decided by the
dispatching side, in ``policies.verdict``.
"""

from datetime import datetime
from typing import Final

import msgspec

#: What a keeper says of a child that it killed because what ran in it would not end.
UNRESPONSIVE: Final = "unresponsive"


class ErrorInfo(msgspec.Struct, frozen=True, omit_defaults=True):
    """Why an attempt failed: kept, shown and grouped; never rebuilt into an exception."""

    type: str
    message: str
    traceback: str = ""
    #: The innermost frame of user code, ``app.py:31``; together with ``type`` it groups failures.
    where: str = ""

    @property
    def headline(self) -> str:
        """Type and message; many exceptions have no message."""
        return f"{self.type}: {self.message}" if self.message else self.type


class Succeeded(msgspec.Struct, frozen=True, tag="succeeded", gc=False):
    """The handler returned. ``result`` is its JSON text, ``None`` if it returned nothing."""

    result: bytes | None = None


class Failed(msgspec.Struct, frozen=True, tag="failed"):
    """The handler raised. ``permanent`` forbids retries (``raise Fail``)."""

    error: ErrorInfo
    permanent: bool = False
    #: ``raise RetryAfter(...)``: wait exactly this long instead of the back-off.
    retry_after_ms: int | None = None


class Snoozed(msgspec.Struct, frozen=True, tag="snoozed"):
    """The handler asked to be called again later. Not counted as a try."""

    delay_ms: int
    reason: str = ""


class TimedOut(msgspec.Struct, frozen=True, tag="timed_out"):
    """The attempt ran longer than its timeout and was stopped."""

    timeout_ms: int
    #: False when the handler could not be stopped and its process had to be replaced.
    stopped: bool = True
    #: Its process was killed for it: that counts as a crash, so that the next try runs alone.
    took_process: bool = False
    #: It was no sign of life that did not come for so long; the attempt itself still had time.
    is_silence: bool = False


class Cancelled(msgspec.Struct, frozen=True, tag="cancelled"):
    """The handler stopped because the job was being cancelled."""

    reason: str = ""


class Released(msgspec.Struct, frozen=True, tag="released"):
    """The worker hands the job back unfinished (drain, shut-down). Not counted as a try."""

    reason: str = "worker_stopped"


class Lost(msgspec.Struct, frozen=True, tag="lost"):
    """Nobody reported: the process died or its lease ran out.

    Told by recovery, by the keeper of a dead child, and by a child of a dead isolate.
    """

    cause: str


Outcome = Succeeded | Failed | Snoozed | TimedOut | Cancelled | Released | Lost


class Report(msgspec.Struct, frozen=True, gc=False):
    """One attempt's outcome, as a worker sends it to its gateway."""

    job_id: bytes
    attempt: int
    outcome: Outcome


class LogLine(msgspec.Struct, frozen=True, omit_defaults=True):
    """One line that a handler logged. ``sequence`` makes a repeated delivery harmless."""

    job_id: bytes
    attempt: int
    sequence: int
    at: datetime
    level: str
    message: str
    #: JSON object text of the structured fields, or empty.
    fields: str = ""


class Progress(msgspec.Struct, frozen=True, omit_defaults=True):
    """How far a running attempt is: ``done`` of ``total`` units and a short note."""

    job_id: bytes
    attempt: int
    done: float
    total: float | None = None
    note: str = ""
