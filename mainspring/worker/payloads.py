"""Payloads that live in the object store: fetched before the handler starts."""

import msgspec

from mainspring.domain.errors import (
    ConnectionFailed,
    MainspringError,
    OutcomeUnknown,
    ServerUnreachable,
    SessionLost,
)
from mainspring.domain.outcome import ErrorInfo, Failed, Outcome, Snoozed
from mainspring.ports.gateway import WorkerGateway
from mainspring.worker.attempt import Attempt

#: The object store is away: the job waits, and its tries are not used up by that.
_AWAY_MS = 10_000


async def load_payload(gateway: WorkerGateway, attempt: Attempt) -> Outcome | None:
    """Put the payload into the attempt, or return what to report instead."""
    try:
        payload = await gateway.payload(attempt.claimed)
    except SessionLost:
        # Whoever beats, claims or reports next is told the same, and acts on it.
        return Snoozed(_AWAY_MS, "session_lost")
    except (ConnectionFailed, OutcomeUnknown, ServerUnreachable):
        return Snoozed(_AWAY_MS, "payload_unreachable")
    except MainspringError as error:
        return Failed(ErrorInfo(type(error).__name__, error.message))
    attempt.claimed = msgspec.structs.replace(attempt.claimed, payload=payload, payload_ref=None)
    return None
