"""What clients ask about operations, once for both faces."""

from collections.abc import Collection
from datetime import datetime
from typing import Any, TypedDict

import msgspec

from mainspring.app.durations import milliseconds
from mainspring.app.payloads import encoded
from mainspring.app.rates import per_second
from mainspring.app.results import Duration
from mainspring.client.finding import Search, text_of
from mainspring.client.questions import check_place
from mainspring.domain.errors import InvalidInput, ResultTimeout
from mainspring.domain.ids import OPERATION, parse, show_job
from mainspring.domain.job import JobView
from mainspring.domain.operation import (
    MemberView,
    OperationOptions,
    OperationProgress,
    OperationState,
    OperationView,
    Outcome,
)
from mainspring.domain.states import JobState
from mainspring.ports.clock import monotonic
from mainspring.ports.door import Asking, Door
from mainspring.ports.gateway import ClientGateway
from mainspring.ports.operations import OperationAsk

_ASK_SECONDS = 10.0


class OperationKeywords(TypedDict, total=False):
    """How an operation is carried out."""

    #: At most so many jobs, the oldest.
    limit: int
    #: ``"50/s"``: no more changes than that.
    rate: str
    #: After so many changes it pauses by itself.
    canary: int
    #: Jobs that came or moved later are left out; now, if not given.
    until: datetime
    #: Only jobs of this tenant; of all, if not given.
    tenant: str
    #: For ``cancel``.
    reason: str
    force: bool
    #: For ``replay``: what replaces the payload of each.
    payload: Any


class BulkOperation(msgspec.Struct, frozen=True):
    """An operation as it is now."""

    view: OperationView

    @property
    def id(self) -> str:
        """Return its id: ``op_…``."""
        return self.view.operation_id

    @property
    def action(self) -> str:
        """Return what it does."""
        return self.view.action

    @property
    def query(self) -> str:
        """Return the search as it was understood."""
        return self.view.query

    @property
    def state(self) -> OperationState:
        """Return where it stands."""
        return self.view.state

    @property
    def reason(self) -> str:
        """Return why it is paused, was aborted or failed."""
        return self.view.reason

    @property
    def progress(self) -> OperationProgress:
        """Return how far it is: ``changed``, ``left_alone``, ``failed``, and its ``report``."""
        return self.view.progress

    @property
    def goal(self) -> int | None:
        """Return how many jobs it will decide about, as far as that is known."""
        return self.view.goal

    @property
    def has_ended(self) -> bool:
        """Tell whether it does nothing more, whatever is said to it."""
        return self.view.has_ended


class PreviewedOperation(msgspec.Struct, frozen=True):
    """What an operation would be about; ``client.operations.confirm`` begins it."""

    operation: BulkOperation
    #: How many in each state would be changed,
    states: dict[JobState, int]
    #: and how many match that the action cannot change.
    refused: dict[JobState, int]
    #: The newest of them.
    sample: tuple[JobView, ...]

    @property
    def id(self) -> str:
        """Return the id of the operation: ``op_…``."""
        return self.operation.id


class Decided(msgspec.Struct, frozen=True):
    """What became of one job."""

    view: MemberView

    @property
    def job_id(self) -> str:
        """Return the job's id: ``job_…``."""
        return show_job(self.view.job_id)

    @property
    def outcome(self) -> Outcome:
        """Return what became of it."""
        return self.view.outcome

    @property
    def reason(self) -> str | None:
        """Return why it was left alone, or what failed."""
        return self.view.reason


def ask_of(action: str, query: str | Search, given: OperationKeywords) -> OperationAsk:
    """Return what is wanted, or raise what is wrong with it."""
    unknown = sorted(given.keys() - OperationKeywords.__annotations__.keys())
    if unknown:
        raise InvalidInput(f"there is no option {unknown[0]!r} of operations")
    rate = given.get("rate")
    until: object = given.get("until")
    if until is not None and not isinstance(until, datetime):
        raise InvalidInput(f"until: {until!r} is not an instant")
    body = encoded(given["payload"]).decode() if given.get("payload") is not None else None
    options = OperationOptions(
        limit=given.get("limit"),
        rate=None if rate is None else per_second(rate),
        canary=given.get("canary"),
        reason=given.get("reason", ""),
        force=given.get("force", False),
        payload=body,
    )
    return OperationAsk(
        action=action,
        query=text_of(query),
        tenant=given.get("tenant"),
        until=until,
        options=options,
    )


def preview(
    door: Door, action: str, query: str | Search, given: OperationKeywords
) -> Asking[PreviewedOperation]:
    """Ask what an operation would be about."""
    wanted = ask_of(action, query, given)

    async def ask(gateway: ClientGateway) -> PreviewedOperation:
        found = await gateway.operations.preview(wanted, actor=door.actor)
        return PreviewedOperation(
            BulkOperation(found.operation), found.states, found.refused, found.sample
        )

    return ask


def start(
    door: Door, action: str, query: str | Search, given: OperationKeywords
) -> Asking[BulkOperation]:
    """Ask to begin an operation."""
    wanted = ask_of(action, query, given)

    async def ask(gateway: ClientGateway) -> BulkOperation:
        return BulkOperation(await gateway.operations.start(wanted, actor=door.actor))

    return ask


def id_of(named: object) -> bytes:
    """Return the id of an operation that was given as one, or by its id."""
    if isinstance(named, BulkOperation | PreviewedOperation):
        named = named.id
    return parse(OPERATION, named)  # type: ignore[arg-type]  # refuses whatever is no text


def confirm(door: Door, named: object) -> Asking[BulkOperation]:
    """Ask to begin what was previewed."""
    raw = id_of(named)

    async def ask(gateway: ClientGateway) -> BulkOperation:
        return BulkOperation(await gateway.operations.confirm(raw, actor=door.actor))

    return ask


def get(named: object) -> Asking[BulkOperation]:
    """Ask for an operation."""
    raw = id_of(named)

    async def ask(gateway: ClientGateway) -> BulkOperation:
        return BulkOperation(await gateway.operations.get(raw))

    return ask


def page(
    states: Collection[str], tenant: str | None, limit: int, before: object
) -> Asking[list[BulkOperation]]:
    """Ask for a page of operations."""
    cursor = None if before is None else id_of(before)

    async def ask(gateway: ClientGateway) -> list[BulkOperation]:
        found = await gateway.operations.list(
            states=tuple(states), tenant=tenant, limit=limit, before=cursor
        )
        return [BulkOperation(view) for view in found]

    return ask


def pause(door: Door, named: object, reason: str) -> Asking[BulkOperation]:
    """Ask to change nothing more until it is resumed."""
    raw = id_of(named)

    async def ask(gateway: ClientGateway) -> BulkOperation:
        return BulkOperation(await gateway.operations.pause(raw, reason=reason, actor=door.actor))

    return ask


def resume(door: Door, named: object) -> Asking[BulkOperation]:
    """Ask to go on."""
    raw = id_of(named)

    async def ask(gateway: ClientGateway) -> BulkOperation:
        return BulkOperation(await gateway.operations.resume(raw, actor=door.actor))

    return ask


def abort(door: Door, named: object, reason: str) -> Asking[BulkOperation]:
    """Ask to change nothing more for good."""
    raw = id_of(named)

    async def ask(gateway: ClientGateway) -> BulkOperation:
        return BulkOperation(await gateway.operations.abort(raw, reason=reason, actor=door.actor))

    return ask


def members(
    named: object, outcomes: Collection[str], limit: int, after: bytes | None
) -> Asking[list[Decided]]:
    """Ask what became of its jobs."""
    raw = id_of(named)
    check_place(after)

    async def ask(gateway: ClientGateway) -> list[Decided]:
        found = await gateway.operations.members(
            raw, outcomes=tuple(outcomes), limit=limit, after=after
        )
        return [Decided(view) for view in found]

    return ask


class FollowingOperation:
    """Asks again and again how far an operation is; ``is_over`` once it does not run any more."""

    def __init__(self, named: object, timeout: Duration | None) -> None:
        """Follow it from where it is now."""
        self._raw = id_of(named)
        self._timeout = timeout
        self._until: float | None = None
        if timeout is not None:
            self._until = monotonic() + milliseconds(timeout, name="timeout") / 1_000
        self._seen: OperationView | None = None
        self.is_over: bool = False

    async def step(self, gateway: ClientGateway) -> BulkOperation:
        """Return the operation as soon as it is further than it was."""
        while True:
            left = _ASK_SECONDS
            if self._until is not None:
                left = min(left, self._until - monotonic())
            if self._seen is not None and left <= 0:
                name = BulkOperation(self._seen).id
                raise ResultTimeout(
                    f"{name} is still {self._seen.state} after {self._timeout}; it goes on",
                    hint="wait again, or pause or abort it",
                    details={"operation_id": name, "state": self._seen.state.value},
                )
            view = await gateway.operations.wait_for_change(self._raw, self._seen, max(left, 0.0))
            if view != self._seen:
                self._seen = view
                self.is_over = view.state is not OperationState.RUNNING
                return BulkOperation(view)
