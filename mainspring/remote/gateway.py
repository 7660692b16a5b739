"""The worker's door to a store that a server stands before."""

from collections.abc import Callable, Collection, Iterator, Sequence
from typing import Final, TypeVar

import msgspec

from mainspring.domain.errors import LeaseLost, OutcomeUnknown, ServerUnreachable
from mainspring.domain.ids import show_attempt
from mainspring.domain.job import Claimed, HandlerInfo, NewSession
from mainspring.domain.outcome import LogLine, Progress, Report
from mainspring.policies.unanswered import Unanswered
from mainspring.ports.store import Beat, ClaimAsk, Pulse
from mainspring.remote.channel import Channel
from mainspring.wire.protobuf import job_pb2, worker_pb2
from mainspring.wire.protobuf.attempts import claimed_of, holding_message
from mainspring.wire.protobuf.outcomes import line_message, progress_message, report_message
from mainspring.wire.protobuf.scalars import attempt_of, show_worker, utf8
from mainspring.wire.protobuf.sessions import claim_message, session_message

_SERVICE: Final = "/mainspring.v1.WorkerService/"
#: A call of outcomes or lines ends before this size, unless a single one is larger.
_CALL_BYTES_MAX: Final = 3_000_000
_CALL_ITEMS_MAX: Final = 1_000
_PIECE_BYTES: Final = 1_000_000
#: Beyond the time that the server waits.
_WAIT_MARGIN_SECONDS: Final = 10.0
_WAIT_SECONDS_MAX: Final = 60.0
#: Reported attempts that are remembered, for reports that are repeated because an answer was lost.
_REMEMBERED_MAX: Final = 1_000

Fence = tuple[bytes, int]
Holder = tuple[bytes, int]
MessageT = TypeVar("MessageT", job_pb2.Report, worker_pb2.LogLine)


class RemoteGateway:
    """A ``WorkerGateway`` over gRPC. One a process; its connection mends itself."""

    def __init__(self, channel: Channel, *, monotonic: Callable[[], float]) -> None:
        """Speak through ``channel``, which is owned from here on."""
        self._channel = channel
        self._unanswered = Unanswered(monotonic)
        #: Who claimed what this process holds.
        self._held: dict[Fence, Holder] = {}
        #: Likewise of what it reported lately, oldest first.
        self._reported: dict[Fence, Holder] = {}
        self._child = 0

    async def open_session(self, session: NewSession, handlers: Sequence[HandlerInfo]) -> Beat:
        """Begin a session and declare its handlers."""
        answer = await self._channel.ask(
            _SERVICE + "OpenSession",
            session_message(session, list(handlers)),
            worker_pb2.OpenSessionResponse,
        )
        return Beat(answer.lease_ms, answer.drain)

    async def beat(self, worker_id: bytes) -> Beat:
        """Keep the session alive for another lease."""
        question = worker_pb2.BeatRequest(worker_id=show_worker(worker_id))
        answer = await self._channel.ask(_SERVICE + "Beat", question, worker_pb2.BeatResponse)
        return Beat(answer.lease_ms, answer.drain)

    async def drain_session(self, worker_id: bytes) -> None:
        """Claim no more."""
        question = worker_pb2.DrainSessionRequest(worker_id=show_worker(worker_id))
        await self._channel.ask(
            _SERVICE + "DrainSession", question, worker_pb2.DrainSessionResponse
        )

    async def close_session(self, worker_id: bytes) -> None:
        """End the session."""
        question = worker_pb2.CloseSessionRequest(worker_id=show_worker(worker_id))
        await self._channel.ask(
            _SERVICE + "CloseSession", question, worker_pb2.CloseSessionResponse
        )

    async def child_died(self, worker_id: bytes, child: int, cause: str) -> int:
        """Tell of a dead child."""
        question = worker_pb2.ReportDeathRequest(
            worker_id=show_worker(worker_id), child=child, cause=utf8(cause).replace("\0", "?")
        )
        answer = await self._channel.ask(
            _SERVICE + "ReportDeath", question, worker_pb2.ReportDeathResponse
        )
        return answer.lost

    async def claim(self, ask: ClaimAsk) -> list[Claimed]:
        """Get due jobs; after an answer that was lost, say what is held here."""
        self._child = ask.child
        looks = self._unanswered.is_look_due()
        if looks:
            mine = (ask.worker_id, ask.child)
            held = tuple(fence for fence, holder in self._held.items() if holder == mine)
            ask = msgspec.structs.replace(ask, holding=held)
        try:
            answer = await self._channel.ask(
                _SERVICE + "Claim", claim_message(ask), worker_pb2.ClaimResponse
            )
        except (OutcomeUnknown, ServerUnreachable):
            self._unanswered.note()
            raise
        if looks:
            self._unanswered.looked()
        claimed = [claimed_of(item) for item in answer.attempts]
        for job in claimed:
            self._held[job.job_id, job.attempt] = (ask.worker_id, ask.child)
        return claimed

    async def payload(self, claimed: Claimed) -> bytes:
        """Return the payload; one that did not come along is asked for."""
        if claimed.payload_ref is None:
            return claimed.payload
        worker_id, _ = self._holder((claimed.job_id, claimed.attempt))
        question = worker_pb2.ReadPayloadRequest(
            worker_id=show_worker(worker_id),
            attempt_id=show_attempt(claimed.job_id, claimed.attempt),
        )
        answers = self._channel.download(
            _SERVICE + "ReadPayload", question, worker_pb2.ReadPayloadResponse
        )
        return b"".join([answer.piece async for answer in answers])

    async def save_file(self, job_id: bytes, attempt: int, name: str, body: bytes) -> str:
        """Keep a file of an attempt."""
        worker_id, child = self._holder((job_id, attempt))
        first = worker_pb2.FileName(
            worker_id=show_worker(worker_id),
            child=child,
            attempt_id=show_attempt(job_id, attempt),
            name=utf8(name),
        )
        words = [worker_pb2.SaveFileRequest(name=first)]
        words += [
            worker_pb2.SaveFileRequest(piece=body[start : start + _PIECE_BYTES])
            for start in range(0, len(body), _PIECE_BYTES)
        ]
        answer = await self._channel.upload(
            _SERVICE + "SaveFile", words, worker_pb2.SaveFileResponse
        )
        return answer.reference

    async def report(self, reports: Sequence[Report]) -> list[bool]:
        """Hand in outcomes; those of attempts that were never claimed here count for nothing."""
        answers = [False] * len(reports)
        by_holder: dict[Holder, list[int]] = {}
        for place, report in enumerate(reports):
            fence = (report.job_id, report.attempt)
            holder = self._held.get(fence) or self._reported.get(fence)
            if holder is not None:
                by_holder.setdefault(holder, []).append(place)
        for (worker_id, child), places in by_holder.items():
            messages = [report_message(reports[place]) for place in places]
            done = 0
            for batch in _batches(messages):
                question = worker_pb2.ReportRequest(
                    worker_id=show_worker(worker_id), child=child, reports=batch
                )
                answer = await self._channel.ask(
                    _SERVICE + "Report", question, worker_pb2.ReportResponse
                )
                for place, accepted in zip(places[done:], answer.accepted, strict=False):
                    answers[place] = accepted
                    self._put_aside((reports[place].job_id, reports[place].attempt))
                done += len(batch)
        return answers

    async def pulse(
        self, worker_id: bytes, held: Sequence[tuple[bytes, int]], progress: Sequence[Progress]
    ) -> Pulse:
        """Send progress; learn what is cancelled or lost."""
        question = worker_pb2.PulseRequest(
            worker_id=show_worker(worker_id),
            child=self._child,
            holding=worker_pb2.Holding(attempt_ids=holding_message(list(held))),
            progress=[progress_message(told) for told in progress],
        )
        answer = await self._channel.ask(_SERVICE + "Pulse", question, worker_pb2.PulseResponse)
        lost = [attempt_of(name) for name in answer.lost]
        for fence in lost:
            self._put_aside(fence)
        return Pulse(
            cancelling=tuple(attempt_of(name)[0] for name in answer.cancelling),
            lost=tuple(job_id for job_id, _ in lost),
        )

    async def append_logs(self, lines: Sequence[LogLine]) -> None:
        """Send log lines."""
        by_worker: dict[bytes, list[LogLine]] = {}
        for line in lines:
            fence = (line.job_id, line.attempt)
            holder = self._held.get(fence) or self._reported.get(fence)
            if holder is not None:
                by_worker.setdefault(holder[0], []).append(line)
        for worker_id, mine in by_worker.items():
            for batch in _batches([line_message(line) for line in mine]):
                question = worker_pb2.AppendLogsRequest(
                    worker_id=show_worker(worker_id), lines=batch
                )
                await self._channel.ask(
                    _SERVICE + "AppendLogs", question, worker_pb2.AppendLogsResponse
                )

    async def wait_for_work(
        self, worker_id: bytes, queues: Collection[str], timeout_seconds: float
    ) -> bool:
        """Wait for a hint, or for the timeout."""
        seconds = min(max(timeout_seconds, 0.0), _WAIT_SECONDS_MAX)
        question = worker_pb2.WaitForWorkRequest(
            worker_id=show_worker(worker_id),
            child=self._child,
            queues=queues,
            timeout_ms=round(seconds * 1_000),
        )
        answer = await self._channel.ask(
            _SERVICE + "WaitForWork",
            question,
            worker_pb2.WaitForWorkResponse,
            seconds=seconds + _WAIT_MARGIN_SECONDS,
        )
        return answer.is_hint

    async def close(self) -> None:
        """Let go of the connection."""
        await self._channel.close()

    def _holder(self, fence: Fence) -> Holder:
        holder = self._held.get(fence)
        if holder is None:
            raise LeaseLost(f"{show_attempt(*fence)} is not held here")
        return holder

    def _put_aside(self, fence: Fence) -> None:
        holder = self._held.pop(fence, None)
        if holder is None:
            return
        while len(self._reported) >= _REMEMBERED_MAX:
            del self._reported[next(iter(self._reported))]
        self._reported[fence] = holder


def _batches(messages: Sequence[MessageT]) -> Iterator[list[MessageT]]:
    """Return messages in calls of bounded size."""
    batch: list[MessageT] = []
    filled = 0
    for message in messages:
        size = message.ByteSize()
        if batch and (filled + size > _CALL_BYTES_MAX or len(batch) >= _CALL_ITEMS_MAX):
            yield batch
            batch, filled = [], 0
        batch.append(message)
        filled += size
    if batch:
        yield batch
