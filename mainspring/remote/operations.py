"""The part of a client's door that is about operations: ``OperationGateway`` over REST."""

from collections.abc import Callable, Sequence
from typing import Final

from mainspring.domain import payload as payloads
from mainspring.domain.errors import NaiveDatetime
from mainspring.domain.ids import OPERATION, show, show_job
from mainspring.domain.limits import BODY_BYTES_MAX, PAGE_ITEMS_MAX
from mainspring.domain.names import check_choice, check_note, check_range
from mainspring.domain.operation import MemberView, OperationView, check_options
from mainspring.ports.clock import monotonic
from mainspring.ports.operations import OperationAsk, OperationPreview
from mainspring.remote.http import Parameter, RemoteAnswer, RemoteHttp, path_of
from mainspring.remote.seen import Seen
from mainspring.wire.documents.common import Listing
from mainspring.wire.documents.control import ACTIONS
from mainspring.wire.documents.operations import (
    MemberDocument,
    OperationDocument,
    OperationPreviewDocument,
    member_view,
    operation_members,
    operation_view,
    preview_of,
)

#: Below, ``list`` is a method.
list_ = list
#: For how long one request is held back; a wait that goes on asks again.
_HOLD_SECONDS: Final = 25.0
_MILLISECONDS: Final = 1_000
_NOT_MODIFIED: Final = 304


class RemoteOperations:
    """An ``OperationGateway`` on a server, which knows by the key who acts."""

    def __init__(self, http: RemoteHttp, *, new_id: Callable[[], bytes]) -> None:
        """Ask through ``http``; name new operations with ``new_id``."""
        self._http = http
        self._new_id = new_id
        self._seen = Seen[OperationView]()

    # --- beginning ----------------------------------------------------------------------------

    async def preview(self, ask: OperationAsk, *, actor: str) -> OperationPreview:
        """Say what it would be about; one that is asked for twice is forgotten after a day."""
        del actor
        found = await self._http.ask(
            "POST",
            path_of("operations", "preview"),
            body=_members(ask),
            answer=OperationPreviewDocument,
        )
        return preview_of(found)

    async def start(
        self,
        ask: OperationAsk,
        *,
        operation_id: bytes | None = None,
        key: str | None = None,
        actor: str,
    ) -> OperationView:
        """Begin an operation, under an id or a key, so that it may be sent again."""
        del actor
        members = _members(ask)
        headers = {}
        if key is None:
            members["id"] = show(OPERATION, operation_id or self._new_id())
        else:
            headers["Idempotency-Key"] = key
        found = await self._http.fetch("POST", path_of("operations"), body=members, headers=headers)
        return self._read(found)

    async def confirm(
        self, operation_id: bytes, *, tenant: str | None = None, actor: str
    ) -> OperationView:
        """Begin what was previewed."""
        del actor
        return await self._turn(operation_id, "confirm", None, tenant)

    # --- looking ------------------------------------------------------------------------------

    async def get(self, operation_id: bytes, *, tenant: str | None = None) -> OperationView:
        """Return an operation."""
        found = await self._http.fetch("GET", _path(operation_id), query={"tenant": tenant})
        return self._read(found)

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
        query: dict[str, Parameter] = {
            "state": states,
            "tenant": tenant,
            "limit": limit,
            "before": None if before is None else show(OPERATION, before),
        }
        found = await self._http.ask(
            "GET", path_of("operations"), query=query, answer=Listing[OperationDocument]
        )
        return [operation_view(each) for each in found.items]

    async def members(
        self,
        operation_id: bytes,
        *,
        outcomes: Sequence[str] = (),
        tenant: str | None = None,
        limit: int = PAGE_ITEMS_MAX,
        after: bytes | None = None,
    ) -> list_[MemberView]:
        """Return what became of its members, oldest first."""
        check_range("limit", limit, 1, PAGE_ITEMS_MAX)
        query: dict[str, Parameter] = {
            "outcome": outcomes,
            "tenant": tenant,
            "limit": limit,
            "after": None if after is None else show_job(after),
        }
        found = await self._http.ask(
            "GET", _path(operation_id, "members"), query=query, answer=Listing[MemberDocument]
        )
        return [member_view(each) for each in found.items]

    async def wait_for_change(
        self, operation_id: bytes, seen: OperationView | None, timeout_seconds: float
    ) -> OperationView:
        """Return it once it differs from what was seen, or as it is at the timeout."""
        until = monotonic() + timeout_seconds
        while True:
            tag = self._seen.tag(operation_id, seen)
            left = min(max(until - monotonic(), 0.0), _HOLD_SECONDS)
            hold_seconds = 0.0 if tag is None else left
            wait_ms = int(hold_seconds * _MILLISECONDS)
            answer = await self._http.fetch(
                "GET",
                _path(operation_id),
                query={"wait_ms": wait_ms} if wait_ms else None,
                headers={} if tag is None else {"If-None-Match": tag},
                wait_seconds=hold_seconds,
            )
            if answer.status != _NOT_MODIFIED:
                found = self._read(answer)
                if found != seen:
                    return found
            if seen is not None and (seen.has_ended or until <= monotonic()):
                return seen

    # --- turning ------------------------------------------------------------------------------

    async def pause(
        self, operation_id: bytes, *, reason: str = "", tenant: str | None = None, actor: str
    ) -> OperationView:
        """Change nothing more until it is resumed."""
        del actor
        return await self._turn(operation_id, "pause", reason, tenant)

    async def resume(
        self, operation_id: bytes, *, tenant: str | None = None, actor: str
    ) -> OperationView:
        """Go on with one that is paused or failed."""
        del actor
        return await self._turn(operation_id, "resume", None, tenant)

    async def abort(
        self, operation_id: bytes, *, reason: str = "", tenant: str | None = None, actor: str
    ) -> OperationView:
        """Change nothing more for good."""
        del actor
        return await self._turn(operation_id, "abort", reason, tenant)

    async def _turn(
        self, operation_id: bytes, verb: str, reason: str | None, tenant: str | None
    ) -> OperationView:
        body = None if reason is None else {"reason": check_note("reason", reason)}
        found = await self._http.fetch(
            "POST", _path(operation_id, verb), body=body, query={"tenant": tenant}
        )
        return self._read(found)

    def _read(self, answer: RemoteAnswer) -> OperationView:
        """Return an operation, remembering the server's tag of what it looked like."""
        found = operation_view(self._http.read(answer, OperationDocument))
        self._seen.keep(found.id, answer.headers.get("etag", ""), found)
        return found


def _path(operation_id: bytes, *verbs: str) -> str:
    return path_of("operations", show(OPERATION, operation_id), *verbs)


def _members(ask: OperationAsk) -> dict[str, object]:
    """Return the members of a body, once nothing in them would arrive as something else."""
    check_choice("action", ask.action, ACTIONS)
    check_options(ask.action, ask.options)
    if ask.options.payload is not None:
        payloads.check(ask.options.payload.encode(), bytes_max=BODY_BYTES_MAX)
    if ask.until is not None and ask.until.tzinfo is None:
        raise NaiveDatetime(f"until: {ask.until.isoformat()} has no time zone")
    return operation_members(ask)
