"""``mainspring.v1.WorkerService``: what workers ask for, but for the stream of attempts."""

from collections.abc import AsyncIterator, Sequence
from typing import Any, Final

import msgspec

from mainspring.domain.access import Right
from mainspring.domain.errors import (
    BlobUnavailable,
    InvalidInput,
    LeaseLost,
    LimitReached,
    PayloadTooLarge,
)
from mainspring.domain.job import DEFAULT_TENANT, Claimed
from mainspring.domain.limits import FILE_BYTES_MAX
from mainspring.domain.names import check_note, check_range
from mainspring.server.grpc.attempt_stream import Streams
from mainspring.server.grpc.calls import Ask, Caller, Download, Method, Talk, Upload
from mainspring.wire.protobuf import job_pb2, worker_pb2
from mainspring.wire.protobuf.attempts import attempt_message, holding_of
from mainspring.wire.protobuf.outcomes import line_of, progress_of, report_of
from mainspring.wire.protobuf.scalars import attempt_of, show_attempt, show_worker, worker_of
from mainspring.wire.protobuf.sessions import (
    CHILD_MAX,
    ask_of,
    handler_of,
    queues_of,
    session_of,
)

SERVICE: Final = "mainspring.v1.WorkerService"
#: Payloads of one answer, together: stock clients take messages of 4 MiB.
ANSWER_BYTES_MAX: Final = 3_000_000
PIECE_BYTES: Final = 1_000_000
_REPORTS_MAX: Final = 1_000
_HOLDING_MAX: Final = 10_000
_WAIT_MS_MAX: Final = 60_000
_NAME_CHARACTERS_MAX: Final = 256


async def open_session(
    caller: Caller, given: worker_pb2.OpenSessionRequest
) -> worker_pb2.OpenSessionResponse:
    """Begin a session."""
    worker_id = worker_of(given.worker_id) if given.worker_id else caller.backroom.new_worker_id()
    session = session_of(given, worker_id)
    handlers = []
    for index, wanted in enumerate(given.handlers):
        handler = _handler(wanted, index)
        tenant = caller.principal.tenant_of(wanted.tenant or None, DEFAULT_TENANT)
        handlers.append(msgspec.structs.replace(handler, tenant=tenant))
    beat = await caller.seat(worker_id).open_session(session, handlers)
    return worker_pb2.OpenSessionResponse(
        worker_id=show_worker(worker_id), lease_ms=beat.lease_ms, drain=beat.drain
    )


async def beat(caller: Caller, given: worker_pb2.BeatRequest) -> worker_pb2.BeatResponse:
    """Keep a session."""
    worker_id = worker_of(given.worker_id)
    answer = await caller.seat(worker_id).beat(worker_id)
    return worker_pb2.BeatResponse(lease_ms=answer.lease_ms, drain=answer.drain)


async def drain_session(
    caller: Caller, given: worker_pb2.DrainSessionRequest
) -> worker_pb2.DrainSessionResponse:
    """Hand out nothing more."""
    worker_id = worker_of(given.worker_id)
    await caller.seat(worker_id).drain_session(worker_id)
    return worker_pb2.DrainSessionResponse()


async def close_session(
    caller: Caller, given: worker_pb2.CloseSessionRequest
) -> worker_pb2.CloseSessionResponse:
    """End a session."""
    worker_id = worker_of(given.worker_id)
    await caller.seat(worker_id).close_session(worker_id)
    await caller.leave(worker_id)
    return worker_pb2.CloseSessionResponse()


async def report_death(
    caller: Caller, given: worker_pb2.ReportDeathRequest
) -> worker_pb2.ReportDeathResponse:
    """Judge what a dead process held."""
    worker_id = worker_of(given.worker_id)
    child = _child(given.child)
    cause = check_note("cause", given.cause) or "child_died"
    lost = await caller.seat(worker_id, child).child_died(worker_id, child, cause)
    return worker_pb2.ReportDeathResponse(lost=lost)


async def claim(caller: Caller, given: worker_pb2.ClaimRequest) -> worker_pb2.ClaimResponse:
    """Hand out what is due."""
    ask = ask_of(given)
    claimed = await caller.seat(ask.worker_id, ask.child).claim(ask)
    return worker_pb2.ClaimResponse(attempts=messages_of(claimed))


async def wait_for_work(
    caller: Caller, given: worker_pb2.WaitForWorkRequest
) -> worker_pb2.WaitForWorkResponse:
    """Wait for a hint."""
    worker_id = worker_of(given.worker_id)
    check_range("timeout_ms", given.timeout_ms, 0, _WAIT_MS_MAX)
    queues = list(queues_of(dict.fromkeys(given.queues, 0)))
    seat = caller.seat(worker_id, _child(given.child))
    is_hint = await seat.wait_for_work(worker_id, queues, given.timeout_ms / 1_000)
    return worker_pb2.WaitForWorkResponse(is_hint=is_hint)


async def read_payload(
    caller: Caller, given: worker_pb2.ReadPayloadRequest
) -> AsyncIterator[worker_pb2.ReadPayloadResponse]:
    """Send the payload of an attempt that this worker holds."""
    worker_id = worker_of(given.worker_id)
    job_id, attempt = attempt_of(given.attempt_id)
    job = await caller.desk.get_job(job_id)
    if (job.worker_id, job.attempt) != (worker_id, attempt):
        raise LeaseLost(f"{show_attempt(job_id, attempt)} is not held by this worker")
    if job.payload_is_away:
        raise BlobUnavailable(
            f"the payload of {job.job_id} cannot be read by the server",
            hint="give the server the object store of the submitters: --blobs, MAINSPRING_BLOBS",
        )
    for start in range(0, len(job.payload), PIECE_BYTES):
        yield worker_pb2.ReadPayloadResponse(piece=job.payload[start : start + PIECE_BYTES])


async def save_file(
    caller: Caller, given: AsyncIterator[worker_pb2.SaveFileRequest]
) -> worker_pb2.SaveFileResponse:
    """Keep a file of an attempt."""
    name: worker_pb2.FileName | None = None
    body = bytearray()
    async for word in given:
        if word.HasField("name"):
            if name is not None:
                raise InvalidInput("the name of a file is given once, and first")
            name = word.name
        body += word.piece
        if len(body) > FILE_BYTES_MAX:
            raise PayloadTooLarge(f"the file has more than {FILE_BYTES_MAX:,} bytes")
    if name is None:
        raise InvalidInput("the file has no name", hint="send the name first")
    if not 0 < len(name.name) <= _NAME_CHARACTERS_MAX or not name.name.isprintable():
        raise InvalidInput(f"name: {name.name[:80]!r} is no name of a file")
    job_id, attempt = attempt_of(name.attempt_id)
    seat = caller.seat(worker_of(name.worker_id), _child(name.child))
    reference = await seat.save_file(job_id, attempt, name.name, bytes(body))
    return worker_pb2.SaveFileResponse(reference=reference)


async def report(caller: Caller, given: worker_pb2.ReportRequest) -> worker_pb2.ReportResponse:
    """Judge what became of attempts."""
    _count("reports", given.reports, _REPORTS_MAX)
    reports = [report_of(item) for item in given.reports]
    seat = caller.seat(worker_of(given.worker_id), _child(given.child))
    return worker_pb2.ReportResponse(accepted=await seat.report(reports))


async def pulse(caller: Caller, given: worker_pb2.PulseRequest) -> worker_pb2.PulseResponse:
    """Keep progress, tell news."""
    worker_id = worker_of(given.worker_id)
    _count("holding", given.holding.attempt_ids, _HOLDING_MAX)
    _count("progress", given.progress, _HOLDING_MAX)
    held = holding_of(list(given.holding.attempt_ids))
    told = [progress_of(item) for item in given.progress]
    news = await caller.seat(worker_id, _child(given.child)).pulse(worker_id, held, told)
    names = dict(held)
    return worker_pb2.PulseResponse(
        cancelling=[show_attempt(job_id, names[job_id]) for job_id in news.cancelling],
        lost=[show_attempt(job_id, names[job_id]) for job_id in news.lost],
    )


async def append_logs(
    caller: Caller, given: worker_pb2.AppendLogsRequest
) -> worker_pb2.AppendLogsResponse:
    """Keep lines."""
    _count("lines", given.lines, _REPORTS_MAX)
    lines = [line_of(item, caller.backroom.now) for item in given.lines]
    await caller.seat(worker_of(given.worker_id)).append_logs(lines)
    return worker_pb2.AppendLogsResponse()


def messages_of(claimed: Sequence[Claimed]) -> list[job_pb2.Attempt]:
    """Return attempts as they travel; payloads beyond what fits are to be asked for."""
    made = []
    left = ANSWER_BYTES_MAX
    for job in claimed:
        made.append(attempt_message(job, payload_bytes_max=left))
        left -= len(made[-1].payload_json)
    return made


def _handler(given: worker_pb2.Handler, index: int) -> Any:
    try:
        return handler_of(given)
    except InvalidInput as error:
        error.message = f"handlers[{index}]: {error.message}"
        error.details["index"] = index
        raise


def _child(number: int) -> int:
    return check_range("child", number, 0, CHILD_MAX)


def _count(field: str, items: Sequence[object], most: int) -> None:
    if len(items) > most:
        raise LimitReached(
            f"{field}: {len(items):,} at once, the limit is {most:,}",
            hint="send them in several calls",
        )


def methods(streams: Streams) -> list[Method[Any]]:
    """Return the rows of this service."""
    right = Right.WORK
    ask = {
        "OpenSession": (worker_pb2.OpenSessionRequest, open_session),
        "Beat": (worker_pb2.BeatRequest, beat),
        "DrainSession": (worker_pb2.DrainSessionRequest, drain_session),
        "CloseSession": (worker_pb2.CloseSessionRequest, close_session),
        "ReportDeath": (worker_pb2.ReportDeathRequest, report_death),
        "Claim": (worker_pb2.ClaimRequest, claim),
        "WaitForWork": (worker_pb2.WaitForWorkRequest, wait_for_work),
        "Report": (worker_pb2.ReportRequest, report),
        "Pulse": (worker_pb2.PulseRequest, pulse),
        "AppendLogs": (worker_pb2.AppendLogsRequest, append_logs),
    }
    rows: list[Method[Any]] = [
        Ask(service=SERVICE, name=name, right=right, takes=takes, does=does)  # type: ignore[arg-type]  # each takes its own
        for name, (takes, does) in ask.items()
    ]
    rows.append(
        Talk(
            service=SERVICE,
            name="StreamAttempts",
            right=right,
            takes=worker_pb2.StreamAttemptsRequest,
            does=streams.talk,
        )
    )
    rows.append(
        Download(
            service=SERVICE,
            name="ReadPayload",
            right=right,
            takes=worker_pb2.ReadPayloadRequest,
            does=read_payload,
        )
    )
    rows.append(
        Upload(
            service=SERVICE,
            name="SaveFile",
            right=right,
            takes=worker_pb2.SaveFileRequest,
            does=save_file,
        )
    )
    return rows
