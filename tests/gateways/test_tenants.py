"""A worker whose key is of one tenant, at the door of gRPC, with the real walls."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from mainspring.dispatcher.bound import bound_gateway
from mainspring.dispatcher.judgement import fixed_dice
from mainspring.dispatcher.office import Office
from mainspring.domain.access import SCOPES, Principal
from mainspring.domain.errors import SessionLost
from mainspring.domain.ids import show_job
from mainspring.domain.job import HandlerInfo
from mainspring.domain.states import JobState
from mainspring.ports.clock import monotonic
from mainspring.ports.entropy import new_job_id
from mainspring.ports.gateway import ClientGateway
from mainspring.ports.store import Store
from mainspring.registry.bound import bound_desk
from mainspring.registry.desk import FrontDesk
from mainspring.runtime.grpc_serving import GrpcBackroom, open_grpc
from mainspring.store.sqlite import open_sqlite
from mainspring.testing.builders import KIND, claim_ask, new_job, new_session
from mainspring.testing.conformance.gateways import hand_in, open_session
from mainspring.testing.conformance.steps import SUCCEEDED, state_of
from mainspring.wire.protobuf.dispatcher_pb2 import (
    ClaimTriggersRequest,
    ClaimTriggersResponse,
    UpdateAttemptRequest,
    UpdateAttemptResponse,
)
from mainspring.wire.protobuf.scalars import show_worker
from tests.gateways.calling import SCHEDULER, Line
from tests.gateways.loopback import ByKey, gateway_to


@pytest.fixture
async def store(tmp_path: Path) -> AsyncIterator[Store]:
    opened = await open_sqlite(tmp_path / "tenants.db")
    await opened.migrate(phase="all")
    await opened.declare_handlers([HandlerInfo(kind=KIND)])
    yield opened
    await opened.close()


@pytest.fixture
async def port(store: Store) -> AsyncIterator[int]:
    desk = FrontDesk(store, blobs=None, new_id=new_job_id)
    dice = fixed_dice(lambda: 0.0, new_job_id)

    def desk_of(tenant: str | None) -> ClientGateway:
        return desk if tenant is None else bound_desk(desk, tenant)

    people = ByKey(
        acme=Principal(name="acme", rights=SCOPES["work"], tenant="acme"),
        globex=Principal(name="globex", rights=SCOPES["work"], tenant="globex"),
        all=Principal(name="all", rights=SCOPES["work"]),
    )
    backroom = GrpcBackroom(
        desk=desk_of,
        office=Office(store, blobs=None, dice=dice, monotonic=monotonic),
        doorkeeper=people,
        bind=bound_gateway,
    )
    async with open_grpc(backroom, "127.0.0.1:0") as door:
        yield door.port


async def test_a_tenants_worker_gets_its_own_jobs_alone(store: Store, port: int) -> None:
    mine, other = new_job(tenant="acme"), new_job(tenant="globex")
    await store.submit([mine, other])
    gateway = gateway_to(port, "acme")
    worker = await open_session(gateway)
    [claimed] = await gateway.claim(claim_ask(worker))
    assert (claimed.job_id, claimed.tenant) == (mine.id, "acme")
    assert await hand_in(gateway, claimed, SUCCEEDED)
    assert await state_of(store, other.id) is JobState.READY
    await gateway.close()


async def test_a_session_of_another_is_one_that_never_was(store: Store, port: int) -> None:
    mine, theirs = gateway_to(port, "acme"), gateway_to(port, "globex")
    worker = await open_session(mine)
    words: list[str] = []
    for worker_id in (worker, new_session().id):
        with pytest.raises(SessionLost) as caught:
            await theirs.beat(worker_id)
        words.append(caught.value.message.replace(show_worker(worker_id), "it"))
    assert words[0] == words[1]
    await mine.beat(worker)
    await store.submit([new_job(tenant="acme")])
    assert await theirs.claim(claim_ask(worker)) == []
    assert len(await mine.claim(claim_ask(worker))) == 1
    await mine.close()
    await theirs.close()


async def test_the_two_calls_without_a_session_keep_to_the_tenant(store: Store, port: int) -> None:
    mine, other = new_job(tenant="acme"), new_job(tenant="globex")
    await store.submit([mine, other])
    line, stranger = Line(f"127.0.0.1:{port}", "acme"), Line(f"127.0.0.1:{port}", "globex")
    wanted = ClaimTriggersRequest(worker_id="w", max_tasks=9, kinds=[KIND])
    answer = await line.ask(SCHEDULER + "ClaimTriggers", wanted, ClaimTriggersResponse)
    [task] = answer.tasks
    assert (task.trigger_id, task.tenant_id) == (show_job(mine.id), "acme")
    told = UpdateAttemptRequest(attempt_id=task.attempt_id, status="SUCCEEDED")
    path = SCHEDULER + "UpdateAttemptStatus"
    nobodys = UpdateAttemptRequest(attempt_id=f"{show_job(new_job().id)}:1", status="SUCCEEDED")
    for unknown in (told, nobodys):
        assert not (await stranger.ask(path, unknown, UpdateAttemptResponse)).success
    assert await state_of(store, mine.id) is JobState.RUNNING
    assert (await line.ask(path, told, UpdateAttemptResponse)).success
    await line.close()
    await stranger.close()
