"""What workers tell: outcomes, progress, log lines."""

from collections.abc import Callable
from datetime import datetime
from typing import Final, assert_never

from mainspring.domain.errors import InvalidInput
from mainspring.domain.limits import RESULT_BYTES_MAX
from mainspring.domain.outcome import (
    Cancelled,
    ErrorInfo,
    Failed,
    LogLine,
    Lost,
    Outcome,
    Progress,
    Released,
    Report,
    Snoozed,
    Succeeded,
    TimedOut,
)
from mainspring.domain.payload import check_text
from mainspring.wire.protobuf import job_pb2, worker_pb2
from mainspring.wire.protobuf.scalars import (
    attempt_of,
    instant,
    show_attempt,
    stamp,
    storable_int,
    utf8,
)

_STOPPED: Final = "worker_stopped"


def report_message(report: Report) -> job_pb2.Report:
    """Return an outcome as it travels."""
    made = job_pb2.Report(attempt_id=show_attempt(report.job_id, report.attempt))
    match report.outcome:
        case Succeeded(result=result):
            made.succeeded.SetInParent()
            if result is not None:
                made.succeeded.result_json = result.decode("utf-8", "replace")
        case Failed() as failed:
            made.failed.CopyFrom(_failed_message(failed))
        case Snoozed(delay_ms=delay_ms, reason=reason):
            made.snoozed.SetInParent()
            made.snoozed.delay_ms = storable_int(delay_ms)
            made.snoozed.reason = utf8(reason)
        case TimedOut() as late:
            made.timed_out.SetInParent()
            made.timed_out.timeout_ms = storable_int(late.timeout_ms)
            made.timed_out.left_running = not late.stopped
            made.timed_out.took_process = late.took_process
            made.timed_out.is_silence = late.is_silence
        case Cancelled(reason=reason):
            made.cancelled.SetInParent()
            made.cancelled.reason = utf8(reason)
        case Released(reason=reason):
            made.released.SetInParent()
            made.released.reason = utf8(reason)
        case Lost(cause=cause):
            made.lost.SetInParent()
            made.lost.cause = utf8(cause)
        case never:
            assert_never(never)
    return made


def report_of(given: job_pb2.Report) -> Report:
    """Read an outcome, or raise ``InvalidInput`` with the attempt that it was said of."""
    job_id, attempt = attempt_of(given.attempt_id)
    chosen = given.WhichOneof("outcome")
    if chosen is None:
        raise InvalidInput(
            f"{given.attempt_id}: the report has no outcome",
            hint="set one of succeeded, failed, snoozed, timed_out, cancelled, released, lost",
            details={"attempt_id": given.attempt_id},
        )
    return Report(job_id, attempt, _READERS[chosen](given))


def progress_message(told: Progress) -> worker_pb2.Progress:
    """Return progress as it travels."""
    return worker_pb2.Progress(
        attempt_id=show_attempt(told.job_id, told.attempt),
        done=told.done,
        total=told.total,
        note=utf8(told.note),
    )


def progress_of(given: worker_pb2.Progress) -> Progress:
    """Read progress."""
    job_id, attempt = attempt_of(given.attempt_id)
    total = given.total if given.HasField("total") else None
    return Progress(job_id, attempt, given.done, total, given.note)


def line_message(line: LogLine) -> worker_pb2.LogLine:
    """Return a log line as it travels."""
    return worker_pb2.LogLine(
        attempt_id=show_attempt(line.job_id, line.attempt),
        sequence=line.sequence,
        at=stamp(line.at),
        level=utf8(line.level),
        message=utf8(line.message),
        fields_json=utf8(line.fields),
    )


def line_of(given: worker_pb2.LogLine, now: Callable[[], datetime]) -> LogLine:
    """Read a log line; without an instant it is of now."""
    job_id, attempt = attempt_of(given.attempt_id)
    if given.sequence < 1:
        raise InvalidInput(
            f"lines.sequence: {given.sequence} is less than 1", details={"field": "lines.sequence"}
        )
    if given.fields_json:
        check_text(given.fields_json.encode(), bytes_max=RESULT_BYTES_MAX, what="lines.fields_json")
    at = instant(given.at, "lines.at") if given.HasField("at") else now()
    level = given.level or "info"
    return LogLine(job_id, attempt, given.sequence, at, level, given.message, given.fields_json)


def _failed_message(failed: Failed) -> job_pb2.Failed:
    error = failed.error
    retry = failed.retry_after_ms
    return job_pb2.Failed(
        error=job_pb2.HandlerError(
            type=utf8(error.type),
            message=utf8(error.message),
            traceback=utf8(error.traceback),
            where=utf8(error.where),
        ),
        permanent=failed.permanent,
        retry_after_ms=None if retry is None else storable_int(retry),
    )


def _succeeded(given: job_pb2.Report) -> Outcome:
    if not given.succeeded.HasField("result_json"):
        return Succeeded()
    result = given.succeeded.result_json.encode()
    check_text(result, bytes_max=RESULT_BYTES_MAX, what=f"result of {given.attempt_id}")
    return Succeeded(result)


def _failed(given: job_pb2.Report) -> Outcome:
    failed = given.failed
    error = ErrorInfo(
        failed.error.type or "Error",
        failed.error.message,
        failed.error.traceback,
        failed.error.where,
    )
    retry = failed.retry_after_ms if failed.HasField("retry_after_ms") else None
    return Failed(error, failed.permanent, retry)


def _timed_out(given: job_pb2.Report) -> Outcome:
    late = given.timed_out
    return TimedOut(late.timeout_ms, not late.left_running, late.took_process, late.is_silence)


_READERS: Final[dict[str, Callable[[job_pb2.Report], Outcome]]] = {
    "succeeded": _succeeded,
    "failed": _failed,
    "snoozed": lambda given: Snoozed(given.snoozed.delay_ms, given.snoozed.reason),
    "timed_out": _timed_out,
    "cancelled": lambda given: Cancelled(given.cancelled.reason),
    "released": lambda given: Released(given.released.reason or _STOPPED),
    "lost": lambda given: Lost(given.lost.cause or "unknown"),
}
