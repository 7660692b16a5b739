"""What both stores mean by an operation: its record as text, and what became of a batch."""

from collections.abc import Collection, Iterable, Mapping
from datetime import datetime
from typing import Final, NamedTuple

import msgspec

from mainspring.domain.ids import OPERATION, show
from mainspring.domain.operation import (
    Mark,
    Member,
    MemberView,
    OperationState,
    OperationView,
    Outcome,
)
from mainspring.domain.states import FINAL
from mainspring.ports.operations import Batch, NewOperation
from mainspring.ports.store import CancelResult

_records: Final = msgspec.json.Decoder(OperationView)
_encoder: Final = msgspec.json.Encoder()


class Standing(NamedTuple):
    """A job as it stands at the moment of a batch."""

    mark: Mark
    queue: str


def record_of(view: OperationView) -> str:
    """Return an operation as it is kept."""
    return _encoder.encode(view).decode()


def view_of(record: str) -> OperationView:
    """Read a kept operation."""
    return _records.decode(record)


def made(new: NewOperation, actor: str, now: datetime) -> OperationView:
    """Return an operation as it begins."""
    return OperationView(
        id=new.id,
        tenant=new.tenant,
        action=new.action,
        query=new.query,
        until=new.until,
        options=new.options,
        state=new.state,
        progress=new.progress,
        created_at=now,
        created_by=str(actor),
        started_at=now if new.state is OperationState.RUNNING else None,
        turned_at=now,
        turned_by=str(actor),
    )


def turned(
    view: OperationView, to: OperationState, reason: str, actor: str, now: datetime
) -> OperationView:
    """Return an operation in another state."""
    ends = to is OperationState.ABORTED
    starts = to is OperationState.RUNNING and view.started_at is None
    return msgspec.structs.replace(
        view,
        state=to,
        reason=reason,
        version=view.version + 1,
        turned_at=now,
        turned_by=str(actor),
        started_at=now if starts else view.started_at,
        ended_at=now if ends else None,
    )


def step_at(view: OperationView, now: datetime) -> datetime:
    """Return when it may do its next step, which is also its place among others."""
    return now if view.next_at is None else max(now, view.next_at)


def told(view: OperationView) -> dict[str, object]:
    """Return what the audit says of an operation that was made or turned."""
    return {"action": view.action, "query": view.query, "reason": view.reason}


def of_operation(batch: Batch) -> dict[str, object]:
    """Return what the audit says of each job of a batch."""
    if batch.operation_id is None:
        return {}
    return {"operation": show(OPERATION, batch.operation_id)}


def unmoved(batch: Batch, found: Mapping[bytes, Standing]) -> tuple[list[bytes], list[bytes]]:
    """Return the jobs that still stand as they are marked: live ones, and dead ones."""
    live: list[bytes] = []
    dead: list[bytes] = []
    for member in batch.members:
        standing = found.get(member.job_id)
        if standing is not None and standing.mark == member.mark:
            (dead if member.mark.is_final else live).append(member.job_id)
    return live, dead


def outcomes(
    batch: Batch,
    found: Mapping[bytes, Standing],
    existing: Collection[bytes],
    changed: Collection[bytes],
) -> list[MemberView]:
    """Return what became of each member, in order."""
    views: list[MemberView] = []
    for member in batch.members:
        standing = found.get(member.job_id)
        if member.job_id in changed:
            views.append(MemberView(member.job_id, member.state, Outcome.CHANGED))
            continue
        if standing is not None:
            reason = "not_needed" if standing.mark == member.mark else "moved"
        else:
            reason = "moved" if member.job_id in existing else "gone"
        views.append(MemberView(member.job_id, member.state, Outcome.LEFT_ALONE, reason))
    return views


def refused(batch: Batch, reason: str) -> list[MemberView]:
    """Return the members of a batch as ones that could not be changed."""
    return [
        MemberView(member.job_id, member.state, Outcome.FAILED, reason) for member in batch.members
    ]


def batch_of(view: OperationView, members: Iterable[Member]) -> Batch:
    """Return what an operation does with some of its members."""
    return Batch(
        action=view.action,
        members=tuple(members),
        reason=view.options.reason,
        force=view.options.force,
        payload=view.options.payload,
        operation_id=view.id,
    )


def queue_topics(standings: Iterable[Standing]) -> frozenset[str]:
    """Return the hints for whoever may run these jobs."""
    return frozenset(f"queue:{standing.queue}" for standing in standings)


def cancel_topics(results: Iterable[CancelResult]) -> frozenset[str]:
    """Return the hints for whoever runs these jobs, or waits for them."""
    topics: set[str] = set()
    for result in results:
        if result.worker_id:
            topics.add(f"worker:{result.worker_id.hex()}")
        if result.changed and result.state in FINAL:
            topics.add("done")
    return frozenset(topics)
