"""Push: attempts go out as they fall due, as far as a worker's credits reach.

The stream knows of each queue whether it may have more that is due (*hungry*). It claims where
credits and hunger meet, and otherwise waits for hints, for credits, and for the safety net.
"""

import asyncio
from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Final

from mainspring.domain.access import Right
from mainspring.domain.errors import Conflict, InvalidInput, LimitReached
from mainspring.domain.job import Claimed
from mainspring.domain.limits import CLAIM_JOBS_MAX
from mainspring.domain.names import check_range
from mainspring.ports.clock import monotonic, pause_seconds
from mainspring.ports.gateway import WorkerGateway
from mainspring.ports.store import ClaimAsk, Lane
from mainspring.server.grpc.calls import Line
from mainspring.wire.protobuf import job_pb2, worker_pb2
from mainspring.wire.protobuf.attempts import attempt_message, holding_of
from mainspring.wire.protobuf.scalars import worker_of
from mainspring.wire.protobuf.sessions import (
    CHILD_MAX,
    DEFAULT_GRACE_MS,
    GRACE_MS_MAX,
    kinds_of,
    queues_of,
)

CREDITS_MAX: Final = 10_000
_MESSAGE_BYTES: Final = 1_000_000
#: A queue with this share of its credits open is worth a claim of its own.
_WORTH_IT: Final = 8
#: Credits join one claim for so long, while a few of many are open.
_GATHER_SECONDS: Final = 0.005
_FIRST_POLL_SECONDS: Final = 1.0
_POLL_SECONDS: Final = 5.0
_NUDGE_SECONDS: Final = 0.1
_ADMIT_SECONDS: Final = 30.0


class Streams:
    """The streams that are open: one for each process of a worker."""

    def __init__(self) -> None:
        """Begin without any."""
        self._open: dict[tuple[str | None, bytes, int], asyncio.Event] = {}

    async def talk(self, line: Line[worker_pb2.StreamAttemptsRequest]) -> None:
        """Serve one stream until its caller ends it, or opens another one."""
        first = await line.hear()
        if first is None:
            return
        if not first.HasField("open"):
            raise InvalidInput("a stream begins with open", hint="send OpenStream first")
        stream = _Stream(line, first.open)
        key = (line.caller.principal.tenant, stream.worker_id, stream.child)
        if (before := self._open.get(key)) is not None:
            before.set()
        self._open[key] = stream.superseded
        try:
            await stream.run()
        finally:
            if self._open.get(key) is stream.superseded:
                del self._open[key]


class _Stream:
    """One of them."""

    def __init__(
        self, line: Line[worker_pb2.StreamAttemptsRequest], given: worker_pb2.OpenStream
    ) -> None:
        self.worker_id = worker_of(given.worker_id)
        self.child = check_range("child", given.child, 0, CHILD_MAX)
        self.superseded = asyncio.Event()
        self._line = line
        self._kinds = kinds_of(tuple(given.kinds))
        self._grace_ms = given.grace_ms if given.HasField("grace_ms") else DEFAULT_GRACE_MS
        check_range("grace_ms", self._grace_ms, 0, GRACE_MS_MAX)
        self._holding: tuple[tuple[bytes, int], ...] | None = None
        if given.HasField("holding"):
            self._holding = tuple(holding_of(list(given.holding.attempt_ids)))
        self._seat: WorkerGateway = line.caller.seat(self.worker_id, self.child)
        self._credits: dict[str, int] = {}
        self._most: dict[str, int] = {}
        self._hungry: set[str] = set()
        #: Credits came, or it is over.
        self._stirred = asyncio.Event()
        self._ended = False
        self._poll = _FIRST_POLL_SECONDS
        self._nudged_at = float("-inf")
        self._admitted_at = monotonic()

    async def run(self) -> None:
        """Send until the caller ends, or opens another stream."""
        if self._holding is not None:
            await self._claim({})
        async with asyncio.TaskGroup() as group:
            hearing = group.create_task(self._hear())
            ending = group.create_task(self._until_superseded())
            try:
                await self._serve(group)
            finally:
                hearing.cancel()
                ending.cancel()
        if self.superseded.is_set():
            raise Conflict("this process has opened another stream", hint="keep one open")

    async def _hear(self) -> None:
        while (word := await self._line.hear()) is not None:
            if word.HasField("open"):
                raise InvalidInput("a stream is opened once")
            for queue, count in queues_of(word.credits.queues).items():
                granted = self._credits.get(queue, 0) + count
                if granted > CREDITS_MAX:
                    raise LimitReached(
                        f"{granted:,} credits of {queue}, the limit is {CREDITS_MAX:,}"
                    )
                if queue not in self._credits:
                    self._hungry.add(queue)
                self._credits[queue] = granted
                self._most[queue] = max(self._most.get(queue, 0), granted)
            self._stirred.set()
        self._ended = True
        self._stirred.set()

    async def _until_superseded(self) -> None:
        await self.superseded.wait()
        self._ended = True
        self._stirred.set()

    async def _serve(self, group: asyncio.TaskGroup) -> None:
        listening: asyncio.Task[bool] | None = None
        listened: frozenset[str] = frozenset()
        while not self._ended:
            wants = {q: min(n, CLAIM_JOBS_MAX) for q, n in self._credits.items() if n > 0}
            wants = {queue: want for queue, want in wants.items() if queue in self._hungry}
            if wants:
                if sum(wants.values()) * _WORTH_IT < sum(self._most[queue] for queue in wants):
                    await pause_seconds(_GATHER_SECONDS)
                    wants = {q: min(self._credits[q], CLAIM_JOBS_MAX) for q in wants}
                await self._send(await self._claim(wants))
                continue
            quiet = frozenset(self._credits) - self._hungry
            if listening is None or quiet != listened:
                if listening is not None:
                    listening.cancel()
                listened = quiet
                listening = group.create_task(self._listen(quiet))
            if await self._rest(listening):
                is_hint = listening.result()
                listening = None
                await self._wake(is_hint=is_hint)
        if listening is not None:
            listening.cancel()

    async def _claim(self, wants: dict[str, int]) -> list[Claimed]:
        ask = ClaimAsk(
            worker_id=self.worker_id,
            child=self.child,
            lanes=tuple(Lane(queue, want) for queue, want in wants.items()),
            kinds=self._kinds,
            limit=min(sum(wants.values()), CLAIM_JOBS_MAX),
            grace_ms=self._grace_ms,
            holding=self._holding,
        )
        claimed = await self._seat.claim(ask)
        self._holding = None
        got = Counter([job.queue for job in claimed])
        is_full = len(claimed) >= ask.limit
        for queue, want in wants.items():
            self._credits[queue] -= got[queue]
            if not is_full and got[queue] < want:
                self._hungry.discard(queue)
        if claimed:
            self._poll = _FIRST_POLL_SECONDS
        return claimed

    async def _listen(self, queues: frozenset[str]) -> bool:
        seconds = self._poll
        self._poll = min(self._poll * 2, _POLL_SECONDS)
        return await self._seat.wait_for_work(self.worker_id, sorted(queues), seconds)

    async def _rest(self, listening: "asyncio.Task[bool]") -> bool:
        """Wait until something happens; True when the listening is over."""
        self._stirred.clear()
        if self._ended or self._is_wanted():
            return False
        stirred = asyncio.ensure_future(self._stirred.wait())  # noqa: TID251 - ends with this call
        try:
            await asyncio.wait({listening, stirred}, return_when=asyncio.FIRST_COMPLETED)
        finally:
            stirred.cancel()
        return listening.done()

    def _is_wanted(self) -> bool:
        return any(self._credits[queue] > 0 for queue in self._hungry)

    async def _wake(self, *, is_hint: bool) -> None:
        self._hungry.update(self._credits)
        self._line.caller.seat(self.worker_id, self.child)  # in use
        now = monotonic()
        if is_hint and now - self._nudged_at >= _NUDGE_SECONDS:
            self._nudged_at = now
            await self._line.say(worker_pb2.StreamAttemptsResponse(nudge=worker_pb2.Nudge()))
        if now - self._admitted_at >= _ADMIT_SECONDS:
            self._admitted_at = now
            await self._line.admit(Right.WORK)

    async def _send(self, claimed: Sequence[Claimed]) -> None:
        for attempts in _batches(claimed):
            word = worker_pb2.Attempts(attempts=attempts)
            await self._line.say(worker_pb2.StreamAttemptsResponse(attempts=word))


def _batches(claimed: Sequence[Claimed]) -> Iterator[list[job_pb2.Attempt]]:
    """Return attempts in messages of bounded size; a payload that fits into none stays behind."""
    batch: list[job_pb2.Attempt] = []
    filled = 0
    for job in claimed:
        made = attempt_message(job, payload_bytes_max=_MESSAGE_BYTES)
        size = len(made.payload_json)
        if batch and filled + size > _MESSAGE_BYTES:
            yield batch
            batch, filled = [], 0
        batch.append(made)
        filled += size
    if batch:
        yield batch
