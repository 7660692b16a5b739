"""Live changes, as server-sent events."""

import msgspec

from mainspring.domain.access import Right
from mainspring.domain.errors import InvalidId, NotFound
from mainspring.domain.ids import parse_job
from mainspring.domain.states import JobState
from mainspring.server.events import Interest
from mainspring.server.http.calls import Call, Stream
from mainspring.server.http.routing import Routes

routes = Routes("Events")
MEDIA_TYPE = "text/event-stream"


class EventsQuery(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What somebody wants to be told of; what is left out means everything."""

    job_id: list[str] = []
    kind: list[str] = []
    queue: list[str] = []
    state: list[JobState] = []
    tenant: str | None = None
    #: For those who cannot send the header Last-Event-ID.
    last_event_id: str | None = None


@routes.add(
    "GET",
    "/api/v1/events",
    Right.JOBS_READ,
    errors=(InvalidId, NotFound),
    media_type=MEDIA_TYPE,
    headers=("Last-Event-ID",),
)
async def watch(call: Call, query: EventsQuery) -> Stream:
    """Tell of changes of jobs as they happen: server-sent events.

    An event ``job`` says what a job is now; it may come twice, and of changes that follow each
    other within moments only the last is told. After an event ``reset`` look at everything anew:
    more happened than could be told. Come back with the id of the last event, at any server, and
    what happened meanwhile is told first, for five minutes.
    """
    hub = call.house.hub
    if hub is None:
        raise NotFound("this server tells of no changes", hint="ask for the job again")
    interest = Interest(
        tenant=call.any_tenant(query.tenant),
        kinds=frozenset(query.kind),
        queues=frozenset(query.queue),
        states=frozenset(query.state),
        job_ids=frozenset(bytes(parse_job(text)) for text in query.job_id),
    )
    after = call.request.headers.get("last-event-id", query.last_event_id)
    return Stream(MEDIA_TYPE, hub.watch(interest, after))
