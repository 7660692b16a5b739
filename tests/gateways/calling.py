"""Calls of gRPC as any program makes them: by path, with messages, and with what goes wrong."""

from collections.abc import Sequence
from typing import Any, TypeVar

import grpc
from google.protobuf.message import Message

from mainspring.wire.protobuf import dispatcher_pb2, submission_pb2, worker_pb2
from mainspring.wire.protobuf.errors import error_of

WORKER = "/mainspring.v1.WorkerService/"
SUBMISSION = "/mainspring.v1.SubmissionService/"
SCHEDULER = "/database.scheduler.v1.SchedulerDispatcher/"
#: Every method: the kind of its question, and whether questions and answers are streams.
METHODS: dict[str, tuple[type[Message], bool, bool]] = {
    SCHEDULER + "ClaimTriggers": (dispatcher_pb2.ClaimTriggersRequest, False, False),
    SCHEDULER + "UpdateAttemptStatus": (dispatcher_pb2.UpdateAttemptRequest, False, False),
    SUBMISSION + "Submit": (submission_pb2.SubmitRequest, False, False),
    SUBMISSION + "SubmitBatch": (submission_pb2.SubmitBatchRequest, False, False),
    WORKER + "OpenSession": (worker_pb2.OpenSessionRequest, False, False),
    WORKER + "Beat": (worker_pb2.BeatRequest, False, False),
    WORKER + "DrainSession": (worker_pb2.DrainSessionRequest, False, False),
    WORKER + "CloseSession": (worker_pb2.CloseSessionRequest, False, False),
    WORKER + "ReportDeath": (worker_pb2.ReportDeathRequest, False, False),
    WORKER + "Claim": (worker_pb2.ClaimRequest, False, False),
    WORKER + "StreamAttempts": (worker_pb2.StreamAttemptsRequest, True, True),
    WORKER + "WaitForWork": (worker_pb2.WaitForWorkRequest, False, False),
    WORKER + "ReadPayload": (worker_pb2.ReadPayloadRequest, False, True),
    WORKER + "SaveFile": (worker_pb2.SaveFileRequest, True, False),
    WORKER + "Report": (worker_pb2.ReportRequest, False, False),
    WORKER + "Pulse": (worker_pb2.PulseRequest, False, False),
    WORKER + "AppendLogs": (worker_pb2.AppendLogsRequest, False, False),
}
AnswerT = TypeVar("AnswerT", bound=Message)
_SECONDS = 20.0


class Refusal:
    """How a call ended that did not succeed."""

    def __init__(self, error: grpc.aio.AioRpcError) -> None:
        self.status = error.code()
        self.details = error.details() or ""
        pairs: Any = error.trailing_metadata() or ()
        self.error = error_of([(key, value) for key, value in pairs])

    @property
    def code(self) -> str:
        return "" if self.error is None else self.error.code


class Line:
    """A connection to a server."""

    def __init__(self, target: str, key: str = "") -> None:
        self.channel = grpc.aio.insecure_channel(
            target, options=[("grpc.max_send_message_length", -1)]
        )
        self.metadata = (("authorization", f"Bearer {key}"),) if key else ()

    async def ask(self, path: str, question: Message, answers: type[AnswerT]) -> AnswerT:
        """Ask once; a refusal is raised as the library does."""
        call: Any = self.channel.unary_unary(path)
        sent = question.SerializeToString()
        raw = await call(sent, timeout=_SECONDS, metadata=self.metadata)
        return answers.FromString(raw)

    async def refused(
        self, path: str, *sent: bytes | Message, seconds: float = _SECONDS
    ) -> Refusal | None:
        """Send bytes to any method; return how it ended, or nothing when it was answered."""
        _, many_in, many_out = METHODS[path]
        raws = [item if isinstance(item, bytes) else item.SerializeToString() for item in sent]
        options: dict[str, Any] = {"timeout": seconds, "metadata": self.metadata}
        while True:
            try:
                await self._send(path, raws, options, many_in=many_in, many_out=many_out)
            except grpc.aio.AioRpcError as error:
                # The library's own word for: the server ended this while I was still sending.
                if many_in and error.details() == "Internal error from Core":
                    continue
                return Refusal(error)
            return None

    async def _send(
        self,
        path: str,
        raws: Sequence[bytes],
        options: dict[str, Any],
        *,
        many_in: bool,
        many_out: bool,
    ) -> None:
        channel: Any = self.channel
        if many_in and many_out:
            async for _ in channel.stream_stream(path)(iter(raws), **options):
                pass
        elif many_out:
            async for _ in channel.unary_stream(path)(raws[0], **options):
                pass
        elif many_in:
            await channel.stream_unary(path)(iter(raws), **options)
        else:
            await channel.unary_unary(path)(raws[0], **options)

    async def close(self) -> None:
        await self.channel.close()
