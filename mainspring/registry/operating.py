"""The desk for operations: what one would be about, its beginning, and what people say to it."""

from collections import Counter
from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Final, NoReturn

import msgspec

from mainspring.domain.declared import Declared
from mainspring.domain.errors import Conflict, InvalidInput, NotFound
from mainspring.domain.ids import OPERATION, show
from mainspring.domain.job import JobView
from mainspring.domain.limits import (
    OPERATION_JOBS_MAX,
    OPERATION_PREVIEW_JOBS_MAX,
    PAGE_ITEMS_MAX,
    TENANT_CHARACTERS_MAX,
)
from mainspring.domain.names import (
    check_choice,
    check_name,
    check_note,
    check_range,
)
from mainspring.domain.operation import (
    ELIGIBLE,
    MemberView,
    OperationProgress,
    OperationState,
    OperationView,
    Outcome,
    Selection,
    check_options,
)
from mainspring.domain.payload import check
from mainspring.domain.search import Query, parse
from mainspring.domain.states import JobState
from mainspring.ports.clock import monotonic
from mainspring.ports.operations import (
    TOPIC,
    NewOperation,
    OperationAsk,
    OperationPreview,
)
from mainspring.registry import repeating
from mainspring.registry.finding import FindingStore, refuse_everything, scan
from mainspring.registry.validate import check_schema
from mainspring.registry.walls import refuse_other
from mainspring.wire.settling import settled

#: Below, ``list`` is a method.
list_ = list
_SAMPLE_JOBS: Final = 5
_POLL_SECONDS: Final = 0.5
_HINT: Final = "mainspring operations ls shows whether it is there"
#: A small set is frozen before the answer is given.
_FREEZE_AT_ONCE_SECONDS: Final = 0.2
_STATES: Final = tuple(state.value for state in OperationState)
_OUTCOMES: Final = tuple(outcome.value for outcome in Outcome)
#: In which states each may be said to an operation.
_MAY: Final[Mapping[OperationState, frozenset[OperationState]]] = {
    OperationState.PAUSED: frozenset({OperationState.RUNNING}),
    OperationState.RUNNING: frozenset({OperationState.PAUSED, OperationState.FAILED}),
    OperationState.ABORTED: frozenset(OperationState)
    - {OperationState.DONE, OperationState.ABORTED},
}
_BEGIN: Final = frozenset({OperationState.PREVIEWED})


class OperationDesk:
    """An ``OperationGateway`` on a store."""

    def __init__(
        self,
        store: FindingStore,
        *,
        new_id: Callable[[], bytes],
        handlers: Callable[[], Awaitable[Declared]],
        payload_bytes: int,
        only: str | None = None,
    ) -> None:
        """Check payloads against what ``handlers`` declare; name operations with ``new_id``.

        With ``only`` it is the desk of one tenant.
        """
        self._only = only
        self._store = store
        self._new_id = new_id
        self._handlers = handlers
        self._payload_bytes = payload_bytes

    # --- beginning ----------------------------------------------------------------------------

    async def preview(self, ask: OperationAsk, *, actor: str) -> OperationPreview:
        """Look at a bounded number of jobs, and keep the question."""
        query, new = await self._new(ask, None, OperationState.PREVIEWED)
        selection = Selection(new.action, query, new.until, new.tenant)
        found, is_least = await self._look(query, selection, OPERATION_PREVIEW_JOBS_MAX)
        refused = await self._refused(query, selection)
        progress = OperationProgress(matched=len(found), matched_is_least=is_least)
        view = await self._create(msgspec.structs.replace(new, progress=progress), actor)
        states = Counter(job.state for job in found)
        return OperationPreview(view, dict(states), refused, tuple(found[:_SAMPLE_JOBS]))

    async def start(
        self,
        ask: OperationAsk,
        *,
        operation_id: bytes | None = None,
        key: str | None = None,
        actor: str,
    ) -> OperationView:
        """Keep it as running; a small set is frozen at once."""
        if key is not None:
            operation_id, made = await self._under(key, ask)
            if made is not None:
                return made
        _, new = await self._new(ask, operation_id, OperationState.RUNNING)
        view = await self._create(new, actor)
        return await self._frozen(view)

    async def _under(self, key: str, ask: OperationAsk) -> tuple[bytes, OperationView | None]:
        """Return the id that a key names, and what it named already if there is such."""
        tenant = self._tenant_of(ask.tenant)
        body = msgspec.msgpack.encode(msgspec.structs.replace(ask, tenant=tenant))
        now = await self._store.now()
        named = repeating.id_of(now, f"operations of {tenant or '*'}", key, body)
        first = repeating.first_id(now - repeating.DAY)
        before: bytes | None = None
        while True:
            page = await self._store.list_operations(
                tenant=tenant, limit=PAGE_ITEMS_MAX, before=before
            )
            for view in page:
                if view.id < first:
                    return named, None
                if view.tenant == tenant and repeating.is_same(view.id, named, key):
                    return named, view
            if len(page) < PAGE_ITEMS_MAX:
                return named, None
            before = page[-1].id

    async def confirm(
        self, operation_id: bytes, *, tenant: str | None = None, actor: str
    ) -> OperationView:
        """Begin what was previewed."""
        view = await self.get(operation_id, tenant=tenant)
        if view.started_at is not None and not view.has_ended:
            return view
        view = await self._turn(view, OperationState.RUNNING, _BEGIN, "confirmed", "", actor)
        return await self._frozen(view)

    async def _new(
        self, ask: OperationAsk, operation_id: bytes | None, state: OperationState
    ) -> tuple[Query, NewOperation]:
        action = check_choice("action", ask.action, tuple(ELIGIBLE))
        refuse_everything(ask.query)
        tenant = self._tenant_of(ask.tenant)
        check_options(action, ask.options)
        now = await self._store.now()
        until = ask.until or now
        if until.tzinfo is None or until > now:
            raise InvalidInput(
                f"until: {until.isoformat()} is not an instant of the past, with its zone",
                hint="leave it out: then it is now",
            )
        query = parse(ask.query, until)
        if ask.options.payload is not None:
            await self._check_payload(query, ask.options.payload.encode(), tenant)
        return query, NewOperation(
            id=operation_id or self._new_id(),
            tenant=tenant,
            action=action,
            query=str(query),
            until=until,
            options=ask.options,
            state=state,
        )

    def _tenant_of(self, asked: str | None) -> str | None:
        if asked is not None:
            check_name("tenant", asked, TENANT_CHARACTERS_MAX)
        if self._only is not None:
            refuse_other(self._only, asked)
        return self._only or asked

    async def _check_payload(self, query: Query, payload: bytes, tenant: str | None) -> None:
        """Refuse a payload that is not for one kind in particular, or does not fit it."""
        body = check(payload, bytes_max=self._payload_bytes)
        kinds = query.pushdown().kinds
        if len(kinds) != 1:
            raise InvalidInput(
                "payload: it is for the jobs of one kind, and the search does not name one",
                hint="write the kind into the search: kind:charge",
            )
        (kind,) = kinds
        known = (await self._handlers()).of(tenant).get(kind)
        if known is not None:
            check_schema(kind, body, known.schema)

    async def _create(self, new: NewOperation, actor: str) -> OperationView:
        async def ask() -> OperationView:
            return await self._store.create_operation(new, actor=actor)

        view = await settled(ask, ask, hint=_HINT)
        if (view.tenant, view.action, view.query, view.options) != (
            new.tenant, new.action, new.query, new.options,
        ):  # fmt: skip
            raise Conflict(f"{view.operation_id} is there already, and another one")
        self._store.wakeups.announce({TOPIC})
        return view

    async def _frozen(self, view: OperationView) -> OperationView:
        until = monotonic() + _FREEZE_AT_ONCE_SECONDS
        while not view.is_frozen and monotonic() < until:
            found = await self._store.freeze_members(
                view.id, looks=PAGE_ITEMS_MAX, most=OPERATION_JOBS_MAX
            )
            if found is None:
                break
            view = found
        return await self.get(view.id)

    async def _look(
        self, query: Query, selection: Selection, most: int
    ) -> tuple[list_[JobView], bool]:
        """Return who would be members among the newest jobs, and whether there may be more."""
        found: list_[JobView] = []
        looked = 0
        if selection.is_empty:
            return found, False
        # One page: where a page is sorted from everything there is, ten cost ten times as much.
        looks = scan(self._store, query, selection.filter, None, page_items=most + 1)
        async for job in looks:
            if looked == most:
                return found, True
            looked += 1
            if selection.admits(job):
                found.append(job)
        return found, False

    async def _refused(self, query: Query, selection: Selection) -> dict[JobState, int]:
        """Return how many of the newest that match could not be changed, by their state."""
        others = frozenset(JobState) - selection.states
        wanted = query.pushdown()
        states = wanted.states & others if wanted.states else others
        if query.is_impossible or not states:
            return {}
        sought = msgspec.structs.replace(
            selection.filter, states=states, finished_after=wanted.finished_after
        )
        page = await self._store.list_jobs(sought, limit=PAGE_ITEMS_MAX, before=None)
        return dict(Counter(job.state for job in page.items if query.matches(job)))

    # --- looking ------------------------------------------------------------------------------

    async def get(self, operation_id: bytes, *, tenant: str | None = None) -> OperationView:
        """Return an operation of the tenant."""
        view = await self._store.get_operation(operation_id)
        if view is None or tenant not in (None, view.tenant):
            _raise_missing(operation_id)
        return view

    async def list(
        self,
        *,
        states: Sequence[str] = (),
        tenant: str | None = None,
        limit: int = 50,
        before: bytes | None = None,
    ) -> list_[OperationView]:
        """Return operations, newest first."""
        check_range("limit", limit, 1, PAGE_ITEMS_MAX)
        wanted = frozenset(
            OperationState(check_choice("states", state, _STATES)) for state in states
        )
        return await self._store.list_operations(
            states=wanted, tenant=self._tenant_of(tenant), limit=limit, before=before
        )

    async def members(
        self,
        operation_id: bytes,
        *,
        outcomes: Sequence[str] = (),
        tenant: str | None = None,
        limit: int = PAGE_ITEMS_MAX,
        after: bytes | None = None,
    ) -> list_[MemberView]:
        """Return what became of its members."""
        check_range("limit", limit, 1, PAGE_ITEMS_MAX)
        wanted = frozenset(
            Outcome(check_choice("outcomes", outcome, _OUTCOMES)) for outcome in outcomes
        )
        await self.get(operation_id, tenant=tenant)
        return await self._store.list_members(
            operation_id, outcomes=wanted, limit=limit, after=after
        )

    async def wait_for_change(
        self, operation_id: bytes, seen: OperationView | None, timeout_seconds: float
    ) -> OperationView:
        """Return it once it differs from what was seen, or as it is at the timeout."""
        until = monotonic() + timeout_seconds
        subscription = self._store.wakeups.subscribe({TOPIC})
        try:
            while True:
                view = await self.get(operation_id)
                left = until - monotonic()
                if view != seen or left <= 0:
                    return view
                await subscription.wait(min(left, _POLL_SECONDS))
        finally:
            subscription.close()

    # --- turning ------------------------------------------------------------------------------

    async def pause(
        self, operation_id: bytes, *, reason: str = "", tenant: str | None = None, actor: str
    ) -> OperationView:
        """Change nothing more until it is resumed."""
        check_note("reason", reason)
        view = await self.get(operation_id, tenant=tenant)
        to = OperationState.PAUSED
        return await self._turn(view, to, _MAY[to], "paused", reason, actor)

    async def resume(
        self, operation_id: bytes, *, tenant: str | None = None, actor: str
    ) -> OperationView:
        """Go on."""
        view = await self.get(operation_id, tenant=tenant)
        to = OperationState.RUNNING
        return await self._turn(view, to, _MAY[to], "resumed", "", actor)

    async def abort(
        self, operation_id: bytes, *, reason: str = "", tenant: str | None = None, actor: str
    ) -> OperationView:
        """Change nothing more for good."""
        check_note("reason", reason)
        view = await self.get(operation_id, tenant=tenant)
        to = OperationState.ABORTED
        return await self._turn(view, to, _MAY[to], "aborted", reason, actor)

    async def _turn(
        self,
        view: OperationView,
        to: OperationState,
        since: frozenset[OperationState],
        word: str,
        reason: str,
        actor: str,
    ) -> OperationView:
        async def ask() -> OperationView | None:
            return await self._store.turn_operation(
                view.id, to, since=since, reason=reason, actor=actor
            )

        turned = await settled(ask, ask, hint=_HINT)
        if turned is None:
            _raise_missing(view.id)
        if turned.state is not to:
            raise Conflict(
                f"{turned.operation_id} is {turned.state} and cannot be {word}",
                hint=f"mainspring operations get {turned.operation_id}",
                details={"state": turned.state.value},
            )
        self._store.wakeups.announce({TOPIC})
        return turned


def _raise_missing(operation_id: bytes) -> NoReturn:
    raise NotFound(f"there is no operation {show(OPERATION, operation_id)}")
