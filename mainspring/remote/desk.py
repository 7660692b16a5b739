"""The client's door to a server: ``ClientGateway`` over REST."""

from collections.abc import Callable, Mapping, Sequence
from datetime import datetime
from typing import TYPE_CHECKING, Any, Final

import msgspec

from mainspring.domain import payload as payloads
from mainspring.domain.errors import InvalidId, MainspringError, NotFound, with_index
from mainspring.domain.ids import ID_BYTES, WORKER, parse_job, show, show_job
from mainspring.domain.job import (
    AttemptView,
    FailureGroup,
    HandlerInfo,
    JobFilter,
    JobView,
    Page,
    QueueView,
    Trend,
    WorkerView,
)
from mainspring.domain.limits import (
    BODY_BYTES_MAX,
    NAMED_JOBS_MAX,
    PAGE_ITEMS_MAX,
    QUEUE_CHARACTERS_MAX,
)
from mainspring.domain.names import check_choice, check_name, check_note, check_range, check_rate
from mainspring.domain.outcome import LogLine
from mainspring.domain.states import FINAL, JobState
from mainspring.ports.clock import monotonic
from mainspring.ports.gateway import Accepted, Bulk, Operation, Replayed, Submission
from mainspring.ports.store import CancelResult
from mainspring.remote.access import RemoteAccessDesk
from mainspring.remote.http import Parameter, RemoteHttp, path_of
from mainspring.remote.seen import Seen
from mainspring.wire.documents.common import Listing
from mainspring.wire.documents.control import (
    ACTIONS,
    ChangedIds,
    ChangedListing,
    EndsDocument,
    JobListing,
    OperatedDocument,
    PurgedDocument,
    ReplayedDocument,
    cancel_result,
    operation,
)
from mainspring.wire.documents.filters import filter_members
from mainspring.wire.documents.fleet import (
    HandlerDocument,
    QueueChanged,
    QueueDocument,
    WorkerDocument,
    handler_info,
    queue_view,
    worker_view,
)
from mainspring.wire.documents.jobs import (
    AttemptDocument,
    GroupDocument,
    JobDocument,
    LogDocument,
    attempt_view,
    failure_group,
    job_view,
    log_line,
)
from mainspring.wire.documents.server import ServerDocument
from mainspring.wire.documents.submissions import AcceptedBatch, AcceptedDocument, DefaultsBody

if TYPE_CHECKING:
    from mainspring.ports.operations import OperationGateway
    from mainspring.ports.scheduling import ScheduleGateway
    from mainspring.ports.webhooks import WebhookGateway

#: For how long one request is held back; a wait that goes on asks again.
_HOLD_SECONDS: Final = 25.0
_DEFAULTS: Final = DefaultsBody.__struct_fields__
_OPERATE_SECONDS_MAX: Final = 86_400.0
_MILLISECONDS: Final = 1_000
_NOT_MODIFIED: Final = 304
#: How long one of several long lists is waited for before the next is looked at.
_TURN_SECONDS: Final = 0.5


class RemoteDesk:
    """A ``ClientGateway`` on a server. One a process and event loop; owns its connections.

    Who acts is known to the server by the key: ``actor`` is not sent.
    """

    def __init__(self, http: RemoteHttp, *, new_id: Callable[[], bytes]) -> None:
        """Ask through ``http``; name new jobs with ``new_id``."""
        self._http = http
        self._new_id = new_id
        self._seen = Seen[JobView]()
        self._schedules: ScheduleGateway | None = None
        self._operations: OperationGateway | None = None
        self._webhooks: WebhookGateway | None = None

    @property
    def is_in_the_open(self) -> bool:
        """Tell whether a key travels where others may read it."""
        return self._http.is_in_the_open

    @property
    def access(self) -> RemoteAccessDesk:
        """Return the part that is about keys, tenants and the audit."""
        return RemoteAccessDesk(self._http)

    @property
    def schedules(self) -> "ScheduleGateway":
        """Return the part that is about schedules; made when first asked for."""
        if self._schedules is None:
            from mainspring.remote.schedules import RemoteSchedules

            self._schedules = RemoteSchedules(self._http, new_id=self._new_id)
        return self._schedules

    @property
    def operations(self) -> "OperationGateway":
        """Return the part that is about operations; made when first asked for."""
        if self._operations is None:
            from mainspring.remote.operations import RemoteOperations

            self._operations = RemoteOperations(self._http, new_id=self._new_id)
        return self._operations

    @property
    def webhooks(self) -> "WebhookGateway":
        """Return the part that is about endpoints of webhooks; made when first asked for."""
        if self._webhooks is None:
            from mainspring.remote.webhooks import RemoteWebhooks

            self._webhooks = RemoteWebhooks(self._http, new_id=self._new_id)
        return self._webhooks

    async def submit(self, wanted: Sequence[Submission]) -> list[Accepted]:
        """Submit all or nothing; each under an id of its own, so that it may be sent again."""
        if not wanted:
            return []
        named = [
            item if item.id is not None else msgspec.structs.replace(item, id=self._new_id())
            for item in wanted
        ]
        for index, item in enumerate(named):
            try:
                _check_id(item.id)
                payloads.check(item.payload, bytes_max=BODY_BYTES_MAX)
            except MainspringError as error:
                raise with_index(error, index, len(named)) from None
        bodies = [submission_members(item) for item in named]
        if len(named) == 1:
            one = await self._http.ask(
                "POST", path_of("jobs"), body=bodies[0], answer=AcceptedDocument
            )
            items = [one]
        else:
            found = await self._http.ask(
                "POST", path_of("jobs", "batch"), body={"jobs": bodies}, answer=AcceptedBatch
            )
            items = found.items
        return [
            # What stands under an id that was made here, was made by this call.
            Accepted(job_id, one.created or (job_id == item.id and before.id is None), one.replaced)
            for one, item, before in zip(items, named, wanted, strict=True)
            for job_id in [parse_job(one.id)]
        ]

    async def get_job(self, job_id: bytes) -> JobView:
        """Return a job."""
        found = await self._look(job_id, {}, 0)
        assert found is not None, "nothing was said of what is known"
        return found

    async def list_jobs(self, wanted: JobFilter, *, limit: int, before: bytes | None) -> Page:
        """Return a page of jobs, newest first."""
        states = sorted(state.value for state in wanted.states)
        return await self._page({**_filter(wanted), "state": states}, limit, before)

    async def find(self, query: str, *, limit: int = 50, before: bytes | None = None) -> Page:
        """Return a page of jobs that a search finds, newest first."""
        return await self._page({"q": query}, limit, before)

    async def operate(self, wanted: Bulk, *, dry_run: bool, actor: str) -> Operation:
        """Do something with everything that a search finds."""
        check_choice("action", wanted.action, ACTIONS)
        rate = check_rate("rate", wanted.rate)
        body = msgspec.structs.asdict(wanted) | {"dry_run": dry_run}
        # As long as it takes: a rate makes it slow on purpose.
        seconds = 0.0 if rate is None else min(wanted.limit / rate, _OPERATE_SECONDS_MAX)
        found = await self._http.ask(
            "POST",
            path_of("jobs", "operate"),
            body=body,
            answer=OperatedDocument,
            wait_seconds=seconds,
        )
        return operation(found)

    async def list_groups(
        self, wanted: JobFilter, *, limit: int = 50, trend: Trend | None = None
    ) -> list[FailureGroup]:
        """Return groups of failures, most jobs first."""
        query = {**_filter(wanted), "state": sorted(wanted.states), "limit": limit}
        if trend is not None:
            query |= {
                "trend_from": trend.begins_at,
                "trend_bucket_ms": trend.bucket_ms,
                "trend_buckets": trend.buckets,
            }
        found = await self._list(path_of("failure-groups"), Listing[GroupDocument], query)
        return [failure_group(group) for group in found]

    async def list_attempts(self, job_id: bytes) -> list[AttemptView]:
        """Return all attempts in order."""
        path = path_of("jobs", show_job(job_id), "attempts")
        try:
            found = await self._list(path, Listing[AttemptDocument])
        except NotFound:
            return []
        return [attempt_view(attempt) for attempt in found]

    async def list_logs(
        self, job_id: bytes, *, after: tuple[int, int] | None = None, limit: int = PAGE_ITEMS_MAX
    ) -> list[LogLine]:
        """Return log lines after the cursor."""
        place = None if after is None else f"{after[0]}:{after[1]}"
        path = path_of("jobs", show_job(job_id), "logs")
        try:
            found = await self._list(path, Listing[LogDocument], {"limit": limit, "after": place})
        except NotFound:
            return []
        return [log_line(line) for line in found]

    async def wait_for_change(
        self, job_id: bytes, seen: JobView | None, timeout_seconds: float
    ) -> JobView:
        """Return the job once it differs from what was seen, or as it is at the timeout."""
        until = monotonic() + timeout_seconds
        while True:
            left = until - monotonic()
            tag = self._seen.tag(job_id, seen)
            hold_seconds = 0.0 if tag is None else min(max(left, 0.0), _HOLD_SECONDS)
            headers = {} if tag is None else {"If-None-Match": tag}
            found = await self._look(job_id, headers, hold_seconds) or seen
            assert found is not None, "nothing new comes after something that was seen"
            if found != seen or found.state in FINAL or until <= monotonic():
                return found

    async def wait_for_ends(self, job_ids: Sequence[bytes], timeout_seconds: float) -> list[bytes]:
        """Return those that have ended, as soon as there are any."""
        until = monotonic() + timeout_seconds
        parts = _parts(job_ids, NAMED_JOBS_MAX)
        hold_max = _HOLD_SECONDS if len(parts) == 1 else _TURN_SECONDS
        while True:
            ended: list[bytes] = []
            for part in parts:
                left = max(0.0, until - monotonic())
                ended += await self._ends(part, 0.0 if ended else min(left, hold_max))
            if ended or until <= monotonic():
                return ended

    async def _ends(self, job_ids: Sequence[bytes], hold_seconds: float) -> list[bytes]:
        found = await self._http.ask(
            "POST",
            path_of("jobs", "ends"),
            body={"ids": _shown(job_ids), "wait_ms": int(hold_seconds * _MILLISECONDS)},
            answer=EndsDocument,
            wait_seconds=hold_seconds,
        )
        return [parse_job(text) for text in found.ended]

    async def read_file(self, reference: str) -> bytes:
        """Return a file that a handler saved."""
        found = await self._http.fetch("GET", path_of("files"), query={"reference": reference})
        return found.body

    async def cancel(
        self, job_ids: Sequence[bytes], *, reason: str = "", force: bool = False, actor: str
    ) -> list[CancelResult]:
        """Cancel jobs; the server tells the workers that run them."""
        check_note("reason", reason)
        results: list[CancelResult] = []
        for part in _parts(job_ids, NAMED_JOBS_MAX):
            found = await self._http.ask(
                "POST",
                path_of("jobs", "cancel"),
                body={"ids": _shown(part), "reason": reason, "force": force},
                answer=ChangedListing,
            )
            results += [cancel_result(one) for one in found.items]
        return results

    async def run_now(self, job_ids: Sequence[bytes], *, actor: str) -> list[bytes]:
        """Make waiting jobs due now."""
        return await self._changed("run-now", job_ids)

    async def replay(
        self, job_ids: Sequence[bytes], *, payload: bytes | None = None, actor: str
    ) -> list[bytes]:
        """Bring dead letters back, with another payload if one is given."""
        more = {}
        if payload is not None:
            payloads.check(payload, bytes_max=BODY_BYTES_MAX)
            more["payload"] = msgspec.Raw(payload)
        return await self._changed("replay", job_ids, more)

    async def _changed(
        self, verb: str, job_ids: Sequence[bytes], more: Mapping[str, object] | None = None
    ) -> list[bytes]:
        changed: list[bytes] = []
        for part in _parts(job_ids, NAMED_JOBS_MAX):
            body = {"ids": _shown(part), **(more or {})}
            found = await self._http.ask(
                "POST", path_of("jobs", verb), body=body, answer=ChangedIds
            )
            changed += [parse_job(text) for text in found.changed]
        return changed

    async def replay_matching(
        self, wanted: JobFilter, *, limit: int, dry_run: bool, actor: str
    ) -> Replayed:
        """Bring back what matches, at most ``limit``; with ``dry_run`` only count."""
        members = filter_members(wanted)
        found = await self._http.ask(
            "POST",
            path_of("dead-letters", "replay"),
            body={**members, "all": not members, "limit": limit, "dry_run": dry_run},
            answer=ReplayedDocument,
        )
        return Replayed(found.matched, tuple(parse_job(text) for text in found.changed))

    async def purge(self, job_ids: Sequence[bytes], *, actor: str) -> int:
        """Delete dead letters for good."""
        purged = 0
        for part in _parts(job_ids, NAMED_JOBS_MAX):
            found = await self._http.ask(
                "POST", path_of("jobs", "purge"), body={"ids": _shown(part)}, answer=PurgedDocument
            )
            purged += found.purged
        return purged

    async def list_queues(self) -> list[QueueView]:
        """Return the queues."""
        found = await self._list(path_of("queues"), Listing[QueueDocument])
        return [queue_view(queue) for queue in found]

    async def pause_queue(self, queue: str, *, reason: str, actor: str) -> bool:
        """Hand out nothing more of this queue."""
        check_note("reason", reason)
        return await self._turn(queue, "pause", {"reason": reason})

    async def resume_queue(self, queue: str, *, actor: str) -> bool:
        """Hand out jobs of this queue again."""
        return await self._turn(queue, "resume", None)

    async def _turn(self, queue: str, verb: str, body: Mapping[str, object] | None) -> bool:
        check_name("queue", queue, QUEUE_CHARACTERS_MAX)
        path = path_of("queues", queue, verb)
        return (await self._http.ask("POST", path, body=body, answer=QueueChanged)).changed

    async def list_workers(self) -> list[WorkerView]:
        """Return worker sessions."""
        found = await self._list(path_of("workers"), Listing[WorkerDocument])
        return [worker_view(worker) for worker in found]

    async def drain_worker(self, worker_id: bytes, *, actor: str) -> bool:
        """Ask a worker to drain."""
        try:
            await self._http.ask("POST", path_of("workers", show(WORKER, worker_id), "drain"))
        except NotFound:
            return False
        return True

    async def list_handlers(self) -> list[HandlerInfo]:
        """Return every declared kind."""
        found = await self._list(path_of("handlers"), Listing[HandlerDocument])
        return [handler_info(handler) for handler in found]

    async def count_states(self) -> dict[JobState, int]:
        """Return how many jobs are in each state."""
        return await self._http.ask("GET", path_of("jobs", "counts"), answer=dict[JobState, int])

    async def now(self) -> datetime:
        """Return the clock of the server's store."""
        return (await self.about()).now

    async def about(self) -> ServerDocument:
        """Return what the server says of itself, and of whoever asks."""
        return await self._http.ask("GET", path_of("server"), answer=ServerDocument)

    async def close(self) -> None:
        """Let go of connections."""
        await self._http.close()

    async def _look(
        self, job_id: bytes, headers: Mapping[str, str], hold_seconds: float
    ) -> JobView | None:
        """Return a job, remembering the server's tag of it; ``None``: it is as the headers say."""
        wait_ms = int(hold_seconds * _MILLISECONDS)
        answer = await self._http.fetch(
            "GET",
            path_of("jobs", show_job(job_id)),
            query={"wait_ms": wait_ms} if wait_ms else None,
            headers=headers,
            wait_seconds=hold_seconds,
        )
        if answer.status == _NOT_MODIFIED:
            return None
        found = job_view(self._http.read(answer, JobDocument))
        self._seen.keep(job_id, answer.headers.get("etag", ""), found)
        return found

    async def _page(self, query: Mapping[str, Parameter], limit: int, before: bytes | None) -> Page:
        check_range("limit", limit, 1, PAGE_ITEMS_MAX)
        place = None if before is None else show_job(before)
        found = await self._http.ask(
            "GET",
            path_of("jobs"),
            query={**query, "limit": limit, "before": place},
            answer=JobListing,
        )
        further = found.next_before
        return Page(
            tuple(job_view(job) for job in found.items),
            None if further is None else parse_job(further),
        )

    async def _list(
        self, path: str, kind: Any, query: Mapping[str, Parameter] | None = None
    ) -> list[Any]:
        found: Listing[Any] = await self._http.ask("GET", path, query=query, answer=kind)
        return found.items


_SAID_OTHERWISE: Final = frozenset(
    {"kind_is_known", "payload_is_checked", "declared", "id", "payload"}
)


def submission_members(wanted: Submission) -> dict[str, object]:
    """Return a submission as the body of a request: what says nothing is left out."""
    members = {
        name: value
        for name, value in msgspec.structs.asdict(wanted).items()
        if value is not None and name not in _SAID_OTHERWISE
    }
    declared = wanted.declared
    if wanted.kind_is_known:
        members["defaults"] = {} if declared is None else _defaults(declared)
    if declared is not None and wanted.backoff is None and declared.backoff is not None:
        members["backoff"] = msgspec.structs.asdict(declared.backoff)
    if wanted.id is not None:
        members["id"] = show_job(wanted.id)
    members["payload"] = msgspec.Raw(wanted.payload)
    return members


def _check_id(job_id: object) -> None:
    if not isinstance(job_id, bytes) or len(job_id) != ID_BYTES:
        raise InvalidId(f"id: {job_id!r} is not an id")


def _defaults(declared: HandlerInfo) -> dict[str, object]:
    found = msgspec.structs.asdict(declared)
    return {name: found[name] for name in _DEFAULTS if found[name] is not None}


def _filter(wanted: JobFilter) -> dict[str, Parameter]:
    return filter_members(wanted)  # type: ignore[return-value]  # names, instants, lists of names


def _shown(job_ids: Sequence[bytes]) -> list[str]:
    return [show_job(job_id) for job_id in job_ids]


def _parts(job_ids: Sequence[bytes], size: int) -> list[Sequence[bytes]]:
    return [job_ids[start : start + size] for start in range(0, len(job_ids), size)]
