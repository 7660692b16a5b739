"""Every route, called as everybody: without a key, with each role and scope, and by another tenant.

The routes come from the table, so that a new one is called as well, or fails here for want of an
example of what stands in its path.
"""

from collections.abc import AsyncIterator, Mapping
from typing import Any

import httpx
import pytest

from mainspring.domain.access import ROLES, SCOPES, Principal, Right, rights_of
from mainspring.domain.errors import Unauthenticated
from mainspring.domain.ids import BACKFILL, OPERATION, SCHEDULE, WEBHOOK, WORKER, show, show_job
from mainspring.ports.entropy import new_job_id
from mainspring.ports.gateway import Submission
from mainspring.ports.operations import OperationAsk
from mainspring.ports.scheduling import CalendarDraft, ScheduleDraft
from mainspring.ports.store import Store
from mainspring.ports.webhooks import WebhookDraft
from mainspring.registry.desk import FrontDesk
from mainspring.server.events import Hub
from mainspring.server.http.routes import TABLE
from mainspring.server.http.routing import Route
from mainspring.testing.builders import lanes
from mainspring.testing.conformance.steps import claim, open_worker
from mainspring.wire.documents.calendars import CalendarBody
from mainspring.wire.documents.definitions import ScheduleBody
from mainspring.wire.documents.ledger import BackfillBody
from mainspring.wire.documents.operations import OperationBody, StartBody
from mainspring.wire.documents.webhooks import WebhookBody
from tests.loopback import serving

#: Whoever knows none of these keys is nobody.
BUNDLES = sorted({*SCOPES, *ROLES})
PRINCIPALS = {name: Principal(name=name, rights=rights_of([name])) for name in BUNDLES} | {
    "nothing": Principal(name="nothing", rights=frozenset()),
    "ours": Principal(name="ours", rights=frozenset(Right), tenant="acme"),
    "theirs": Principal(name="theirs", rights=frozenset(Right), tenant="globex"),
}
PUBLIC = {
    "GET /api/v1/errors",
    "GET /api/v1/errors/{code}",
    "GET /api/v1/openapi.json",
    "GET /livez",
    "GET /readyz",
}


class ByName:
    """Knows principals by their names."""

    async def admit(
        self, authorization: str | None, peer: str, certificate: str | None = None
    ) -> Principal:
        found = self.known(authorization or "")
        if found is None:
            raise Unauthenticated
        return found

    def known(self, authorization: str) -> Principal | None:
        return PRINCIPALS.get(authorization.removeprefix("Bearer "))

    def doubt(self) -> None:
        """Nobody is remembered."""


@pytest.fixture
async def everybody(desk: FrontDesk, store: Store) -> AsyncIterator[httpx.AsyncClient]:
    async with (
        serving(desk, ByName(), hub=Hub(store, name="h")) as url,
        httpx.AsyncClient(base_url=url, timeout=30, trust_env=False) as client,
    ):
        yield client


def named(route: Route) -> str:
    return f"{route.method} {route.path}"


async def call(
    client: httpx.AsyncClient,
    route: Route,
    who: str | None,
    parts: Mapping[str, str],
    query: str = "",
) -> tuple[int, Any]:
    """Call a route; return the status, and the code where it is refused."""
    headers = {} if who is None else {"authorization": f"Bearer {who}"}
    request = client.build_request(
        route.method,
        route.path.format_map(parts) + query,
        headers=headers,
        json=BODIES.get(route.body, {}) if route.body is not None else None,
    )
    answer = await client.send(request, stream=True)
    try:
        # Some streams have no end; their first bytes say enough.
        if answer.headers.get("content-type") == "application/problem+json":
            await answer.aread()
            return answer.status_code, answer.json()["code"]
        return answer.status_code, None
    finally:
        await answer.aclose()


#: Bodies that can be read, where some members must be given.
BODIES: dict[Any, dict[str, Any]] = {
    ScheduleBody: {"name": "nightly", "kind": "nobodys", "when": "@daily"},
    CalendarBody: {"entries": ["2027-01-01"]},
    OperationBody: {"action": "cancel", "query": "kind:nobodys"},
    StartBody: {"action": "cancel", "query": "kind:nobodys"},
    WebhookBody: {"url": "https://example.org/hooks", "events": ["job.dead"]},
    BackfillBody: {"from_at": "2027-01-01T00:00:00Z", "until_at": "2027-01-02T00:00:00Z"},
}
#: Ids and names that nothing has, by the name of a part of a path.
NOBODYS: dict[str, str] = {
    "job_id": show_job(new_job_id()),
    "schedule": show(SCHEDULE, new_job_id()),
    "backfill_id": show(BACKFILL, new_job_id()),
    "operation_id": show(OPERATION, new_job_id()),
    "webhook_id": show(WEBHOOK, new_job_id()),
    "worker_id": show(WORKER, new_job_id()),
    "calendar": "nobodys",
    "queue": "nobodys",
    "kind": "nobodys",
    "code": "nobodys",
    "key": "nobodys",
    "tenant": "nobodys",
}


def test_the_public_routes_are_these() -> None:
    assert {named(route) for route in TABLE.routes if route.right is None} == PUBLIC


async def test_nobody_comes_in_without_a_key(everybody: httpx.AsyncClient) -> None:
    for route in TABLE.routes:
        for who in (None, "a stranger"):
            status, code = await call(everybody, route, who, NOBODYS)
            if route.right is None:
                assert status < 500, named(route)
                assert status != 401, named(route)
            else:
                assert (status, code) == (401, "unauthenticated"), named(route)


@pytest.mark.parametrize("who", [*BUNDLES, "nothing"])
async def test_each_role_does_what_it_has_a_right_to_and_nothing_else(
    everybody: httpx.AsyncClient, who: str
) -> None:
    for route in TABLE.routes:
        status, code = await call(everybody, route, who, NOBODYS)
        assert status < 500, named(route)
        if route.right is not None and route.right not in PRINCIPALS[who].rights:
            assert (status, code) == (403, "forbidden"), named(route)
        elif PRINCIPALS[who].rights == frozenset(Right):
            assert status != 403, named(route)


async def ours(desk: FrontDesk, store: Store) -> dict[str, str]:
    """Make one of each thing for the tenant acme; return what it is called."""
    work = Submission(kind="acme.work", kind_is_known=True, tenant="acme", queue="acme-only")
    (job,) = await desk.submit([work])
    draft = ScheduleDraft(name="nightly", when=("@daily",), work=work)
    schedule = await desk.schedules.create(draft, actor="me")
    await desk.schedules.put_calendar(
        CalendarDraft(name="holidays", entries=("2027-01-01",), tenant="acme"), actor="me"
    )
    operation = await desk.operations.start(
        OperationAsk(action="cancel", query="kind:acme.other", tenant="acme"), actor="me"
    )
    hook = await desk.webhooks.create(
        WebhookDraft(url="https://example.org/acme", events=["job.dead"], tenant="acme"), actor="me"
    )
    worker = await open_worker(store, queues={"acme-only": 1}, kinds=("acme.work",))
    await claim(store, worker, kinds=("acme.work",), lanes=lanes({"acme-only": 1}))
    return NOBODYS | {
        "job_id": show_job(job.job_id),
        "schedule": schedule.schedule_id,
        "operation_id": operation.operation_id,
        "webhook_id": hook.webhook.webhook_id,
        "calendar": "holidays",
        "queue": "acme-only",
        "worker_id": show(WORKER, worker),
    }


async def test_what_another_tenant_has_is_not_there(
    everybody: httpx.AsyncClient, desk: FrontDesk, store: Store
) -> None:
    there = await ours(desk, store)
    for route in TABLE.routes:
        if not set(route.variables) <= there.keys() or not route.variables:
            continue
        seen = await call(everybody, route, "theirs", there)
        unknown = await call(everybody, route, "theirs", NOBODYS)
        assert seen == unknown, named(route)
        assert seen[0] < 500, named(route)


async def test_every_variable_part_has_an_example() -> None:
    assert {name for route in TABLE.routes for name in route.variables} <= NOBODYS.keys()


async def test_lists_show_nothing_of_another_tenant(
    everybody: httpx.AsyncClient, desk: FrontDesk, store: Store
) -> None:
    await ours(desk, store)
    for route in TABLE.routes:
        if route.method != "GET" or route.variables or route.is_stream or route.right is None:
            continue
        answer = await everybody.get(route.path, headers={"authorization": "Bearer theirs"})
        assert "acme" not in answer.text, named(route)


async def test_another_tenant_cannot_be_named(everybody: httpx.AsyncClient) -> None:
    for route in TABLE.routes:
        if route.query is None or "tenant" not in route.query.__struct_fields__:
            continue
        status, code = await call(everybody, route, "theirs", NOBODYS, "?tenant=acme")
        assert (status, code) == (403, "forbidden"), named(route)
