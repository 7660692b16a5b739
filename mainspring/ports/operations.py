"""Operations: bulk actions as objects, as a store keeps them and as clients ask for them.

One batch is one transaction: the operation's row is guarded, the next members are read, the jobs
that still stand as they are marked are changed, every member gets its outcome, and the operation
its counters and its cursor. So whatever dies, nothing is done twice and nothing left out; any
number of nodes may try, and a pause or an abort waits for one batch at most.
"""

from collections.abc import Sequence
from datetime import datetime
from typing import Final, Protocol

import msgspec

from mainspring.domain.job import JobView
from mainspring.domain.operation import (
    Member,
    MemberView,
    OperationOptions,
    OperationProgress,
    OperationState,
    OperationView,
    Outcome,
)
from mainspring.domain.states import JobState

#: Somebody made or turned an operation.
TOPIC: Final = "operations"
#: In the gateway ``list`` is a method.
list_ = list


class NewOperation(msgspec.Struct, frozen=True, kw_only=True):
    """An operation to be made: ``previewed`` or ``running``."""

    id: bytes
    tenant: str | None
    action: str
    query: str
    until: datetime
    options: OperationOptions
    state: OperationState
    progress: OperationProgress = OperationProgress()


class Batch(msgspec.Struct, frozen=True, kw_only=True):
    """What is to be done with some jobs, each as it is marked."""

    action: str
    members: tuple[Member, ...]
    reason: str = ""
    force: bool = False
    #: For ``replay``: JSON text.
    payload: str | None = None
    #: Kept in the audit of each job.
    operation_id: bytes | None = None


class Acts(msgspec.Struct, frozen=True):
    """What became of a batch."""

    members: list[MemberView]
    #: Whom it concerns: hints to be announced after the commit.
    topics: frozenset[str] = frozenset()
    #: Objects that no row names any more.
    references: tuple[str, ...] = ()


class Stepped(msgspec.Struct, frozen=True):
    """An operation after one step, and what is to be done beside the store."""

    view: OperationView
    acts: Acts = Acts([])


class Picked(msgspec.Struct, frozen=True):
    """Operations that have something to do now, and when the next one has."""

    ids: list[bytes]
    #: Until the rate of another one allows a change; ``None``: of none.
    wait_ms: int | None = None


class OperationRecords(Protocol):
    """What clients need of operations, their members and the batches that change those."""

    async def act(self, batch: Batch, *, actor: str) -> Acts:
        """Change jobs that stand as they are marked, in one transaction; tell of each in order.

        Reasons to leave one alone: ``moved`` (it stands otherwise by now), ``gone`` (there is no
        such job any more), ``not_needed`` (it is as the action would make it).
        """
        ...

    async def create_operation(self, new: NewOperation, *, actor: str) -> OperationView:
        """Make an operation; one that is known by its id is answered as it is."""
        ...

    async def get_operation(self, operation_id: bytes) -> OperationView | None:
        """Return an operation."""
        ...

    async def list_operations(
        self,
        *,
        states: frozenset[OperationState] = frozenset(),
        tenant: str | None = None,
        limit: int,
        before: bytes | None = None,
    ) -> list[OperationView]:
        """Return operations, newest first, after the cursor."""
        ...

    async def turn_operation(
        self,
        operation_id: bytes,
        to: OperationState,
        *,
        since: frozenset[OperationState],
        reason: str = "",
        actor: str,
    ) -> OperationView | None:
        """Change the state of one that is in one of these; return it as it is now.

        ``None``: there is none. Repeating is harmless.
        """
        ...

    async def freeze_members(
        self, operation_id: bytes, *, looks: int, most: int
    ) -> OperationView | None:
        """Look at so many jobs for members; ``None``: it does not run, or another node is at it.

        The set ends with ``most`` of them, the newest.
        """
        ...

    async def list_members(
        self,
        operation_id: bytes,
        *,
        outcomes: frozenset[Outcome] = frozenset(),
        after: bytes | None = None,
        limit: int,
    ) -> list[MemberView]:
        """Return members that were decided, oldest first, after the cursor."""
        ...


class OperationStore(OperationRecords, Protocol):
    """With what carries operations on, and forgets them in the end."""

    async def pick_operations(self, limit: int) -> Picked:
        """Return running operations, those first that have waited longest. Guards nothing."""
        ...

    async def act_on_members(
        self, operation_id: bytes, *, limit: int, refusal: str | None = None
    ) -> Stepped | None:
        """Decide the next members; ``None``: it does not run, or another node is at it.

        With a ``refusal`` nothing is changed, and they count as failed for that reason.
        """
        ...

    async def forget_operations(
        self, ended_before: datetime, previewed_before: datetime, *, limit: int
    ) -> int:
        """Drop what is older, members first; return how many rows."""
        ...


class OperationAsk(msgspec.Struct, frozen=True, kw_only=True):
    """What is wanted of an operation."""

    #: ``replay`` and ``purge`` (dead letters), ``retry`` (scheduled, retrying, dead), ``cancel``.
    action: str
    query: str
    #: ``None``: the whole installation.
    tenant: str | None = None
    #: Jobs that came or moved later are left out; now, if not given.
    until: datetime | None = None
    options: OperationOptions = OperationOptions()


class OperationPreview(msgspec.Struct, frozen=True):
    """What an operation would be about. It waits, ``previewed``, to be confirmed."""

    operation: OperationView
    #: How many in each state would be changed,
    states: dict[JobState, int]
    #: and how many match that the action cannot change.
    refused: dict[JobState, int]
    #: The newest of them.
    sample: tuple[JobView, ...]


class OperationGateway(Protocol):
    """All that a client can ask about operations.

    With a ``tenant`` an operation of another one, or of the installation, does not exist.
    """

    async def preview(self, ask: OperationAsk, *, actor: str) -> OperationPreview:
        """Say what it would be about; it begins when it is confirmed."""
        ...

    async def start(
        self,
        ask: OperationAsk,
        *,
        operation_id: bytes | None = None,
        key: str | None = None,
        actor: str,
    ) -> OperationView:
        """Begin an operation. With the id of an earlier call that one is answered.

        ``key`` names an operation for a day in place of an id: asked again, the same one is
        answered; ``SubmissionKeyReused`` if something else was asked for under it.
        """
        ...

    async def confirm(
        self, operation_id: bytes, *, tenant: str | None = None, actor: str
    ) -> OperationView:
        """Begin what was previewed, about the jobs as they stood then."""
        ...

    async def get(self, operation_id: bytes, *, tenant: str | None = None) -> OperationView:
        """Return an operation, or raise ``NotFound``."""
        ...

    async def list(
        self,
        *,
        states: Sequence[str] = (),
        tenant: str | None = None,
        limit: int = 50,
        before: bytes | None = None,
    ) -> list_[OperationView]:
        """Return operations, newest first; ``before`` continues after the last one's id."""
        ...

    async def pause(
        self, operation_id: bytes, *, reason: str = "", tenant: str | None = None, actor: str
    ) -> OperationView:
        """Change nothing more until it is resumed; ``Conflict`` if it does not run."""
        ...

    async def resume(
        self, operation_id: bytes, *, tenant: str | None = None, actor: str
    ) -> OperationView:
        """Go on with one that is paused or failed."""
        ...

    async def abort(
        self, operation_id: bytes, *, reason: str = "", tenant: str | None = None, actor: str
    ) -> OperationView:
        """Change nothing more for good; what was changed stays so."""
        ...

    async def members(
        self,
        operation_id: bytes,
        *,
        outcomes: Sequence[str] = (),
        tenant: str | None = None,
        limit: int = 500,
        after: bytes | None = None,
    ) -> list_[MemberView]:
        """Return what became of its members, oldest first; ``after`` continues."""
        ...

    async def wait_for_change(
        self, operation_id: bytes, seen: OperationView | None, timeout_seconds: float
    ) -> OperationView:
        """Return it as soon as it differs from what was seen, or as it is after a while."""
        ...
