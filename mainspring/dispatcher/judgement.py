"""From outcomes to settlements: the verdict, the follow-up of a dead job, the large result."""

from collections.abc import Callable
from typing import Final, Protocol

import msgspec

from mainspring.dispatcher.audience import Audience
from mainspring.dispatcher.texts import cut, storable
from mainspring.domain.declared import Declared
from mainspring.domain.ids import show_job
from mainspring.domain.job import Claimed, HandlerInfo, Held, NewJob, Settlement
from mainspring.domain.limits import DELAY_SECONDS_MAX, ERROR_BYTES_MAX, INLINE_BYTES_MAX
from mainspring.domain.outcome import ErrorInfo, Failed, Lost, Outcome, Succeeded
from mainspring.domain.states import JobState
from mainspring.policies.notices import with_notices
from mainspring.policies.verdict import judge
from mainspring.ports.blobs import BlobStore

_NAME_BYTES_MAX: Final = 256
_REASON_BYTES_MAX: Final = 1_024


class Dice(Protocol):
    """What a judgement needs of chance: jitter, and the ids of follow-ups."""

    def roll(self) -> float:
        """Return a uniform number in [0, 1)."""
        ...

    def new_job_id(self) -> bytes:
        """Return a new id."""
        ...


class Judge:
    """Turns what was reported into what the store shall do."""

    def __init__(
        self,
        dice: Dice,
        blobs: BlobStore | None,
        *,
        inline_bytes: int = INLINE_BYTES_MAX,
        audience: Audience | None = None,
    ) -> None:
        """Decide with these dice; keep results over ``inline_bytes`` in ``blobs``, if given.

        Who is in the ``audience`` is told by webhook.
        """
        self._audience = audience
        self._dice = dice
        self._blobs = blobs
        self._inline_bytes = inline_bytes

    async def settle(self, job: Claimed | Held, outcome: Outcome, declared: Declared) -> Settlement:
        """Return the settlement of one attempt."""
        if isinstance(outcome, Succeeded) and self._stays_inline(outcome.result):
            # Nearly all of them: nothing to bound, no dice, nothing to put anywhere.
            settlement = judge(job, outcome, 0.0)
            if self._audience is None or self._audience.is_silent():
                return settlement
            return await self._told(settlement, job)
        settlement = _storable(judge(job, _bounded(outcome), self._dice.roll()))
        if settlement.becomes is JobState.DEAD and job.on_exhausted:
            handler = declared.of(job.tenant).get(job.on_exhausted)
            follow_up = self._follow_up(job, settlement, handler)
            settlement = msgspec.structs.replace(settlement, follow_up=follow_up)
        result = settlement.result
        if self._blobs is not None and result is not None and not self._stays_inline(result):
            # Written before the commit: a crash between leaves an object that nobody names,
            # never a row that names nothing.
            key = f"result/{job.tenant}/{show_job(job.job_id)}-{job.attempt}"
            reference = await self._blobs.put(key, result)
            settlement = msgspec.structs.replace(settlement, result=None, result_ref=reference)
        return await self._told(settlement, job)

    async def _told(self, settlement: Settlement, job: Claimed | Held) -> Settlement:
        """Add what tells others of it."""
        if self._audience is None:
            return settlement
        listeners = await self._audience.listeners()
        if not listeners:
            return settlement
        return with_notices(settlement, job, listeners, self._dice.new_job_id)

    def _stays_inline(self, result: bytes | None) -> bool:
        return result is None or self._blobs is None or len(result) <= self._inline_bytes

    def _is_small(self, job: Claimed | Held) -> bool:
        return job.payload_ref is None and len(job.payload) <= self._inline_bytes

    def _follow_up(
        self, job: Claimed | Held, settlement: Settlement, handler: HandlerInfo | None
    ) -> NewJob:
        error = msgspec.json.decode(settlement.error or b"null", type=ErrorInfo | None)
        failure = {
            "job_id": show_job(job.job_id),
            "kind": job.kind,
            "reason": settlement.reason or "",
            "error_type": error.type if error else "",
            "error_message": error.message if error else "",
            "attempts": job.tries,
            # A copy of something large would make a follow-up that nobody may submit.
            "payload": msgspec.Raw(job.payload) if self._is_small(job) else None,
        }
        declared = handler or HandlerInfo(kind=job.on_exhausted or "")
        return NewJob(
            id=self._dice.new_job_id(),
            kind=declared.kind,
            payload=msgspec.json.encode({"failure": failure}),
            tenant=job.tenant,
            queue=declared.queue if handler else job.queue,
            priority=declared.priority,
            max_attempts=declared.max_attempts,
            max_crashes=declared.max_crashes,
            backoff=declared.backoff,
            timeout_ms=declared.timeout_ms,
            # None of its own: two handlers that name each other would go on for ever (law 8).
            on_exhausted=None,
            # However often the dead job is replayed and dies again, each death has its own.
            effect_key=f"{show_job(job.job_id)}:{job.attempt}:exhausted",
        )


def _bounded(outcome: Outcome) -> Outcome:
    """Cut an error to the size that is kept; the ends of a traceback tell the most."""
    if isinstance(outcome, Lost):
        return Lost(storable(outcome.cause, _REASON_BYTES_MAX))
    if not isinstance(outcome, Failed):
        return outcome
    error = outcome.error
    message = cut(error.message, ERROR_BYTES_MAX // 4)
    short = ErrorInfo(
        type=cut(error.type, _NAME_BYTES_MAX),
        message=message,
        traceback=cut(error.traceback, ERROR_BYTES_MAX - ERROR_BYTES_MAX // 4),
        where=cut(error.where, _NAME_BYTES_MAX),
    )
    return outcome if short == error else msgspec.structs.replace(outcome, error=short)


def _storable(settlement: Settlement) -> Settlement:
    """Bound what came from a handler: one report that no store can take would stop all others."""
    most = DELAY_SECONDS_MAX * 1_000
    reason = settlement.reason
    if reason is not None:
        reason = storable(reason, _REASON_BYTES_MAX)
    delay_ms = min(max(settlement.delay_ms, 0), most)
    if reason == settlement.reason and delay_ms == settlement.delay_ms:
        return settlement
    return msgspec.structs.replace(settlement, reason=reason, delay_ms=delay_ms)


def fixed_dice(roll: Callable[[], float], new_job_id: Callable[[], bytes]) -> Dice:
    """Bundle two functions as dice."""

    class _Dice:
        def roll(self) -> float:
            return roll()

        def new_job_id(self) -> bytes:
            return new_job_id()

    return _Dice()
