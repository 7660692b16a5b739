"""Every method of a worker's gateway, asked by one tenant about what another one has."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import msgspec
import pytest

from mainspring.dispatcher.bound import bound_gateway
from mainspring.dispatcher.gateway import LocalGateway
from mainspring.dispatcher.judgement import fixed_dice
from mainspring.domain.errors import LeaseLost, SessionLost
from mainspring.domain.job import Claimed, HandlerInfo
from mainspring.domain.outcome import ErrorInfo, Failed, Report, Succeeded
from mainspring.domain.states import JobState
from mainspring.integrations.local_blobs import LocalBlobs
from mainspring.ports.entropy import new_job_id
from mainspring.ports.gateway import WorkerGateway
from mainspring.ports.store import Lane, Store
from mainspring.registry.desk import FrontDesk
from mainspring.testing.builders import KIND, claim_ask, log_line, new_job, new_session, progress
from mainspring.testing.clock import SettableClock
from tests.tenants.neighbours import (
    ACME,
    BITS,
    SHARED,
    Things,
    everything_of,
    outcome,
    settle_acme,
    settle_bits,
)
from tests.tenants.questions import WORKER, Ask, methods, numbered, take_session

_QUESTIONS = numbered(WORKER)
_NEVER_TELLING = {"close-0", "payload-0", "report-0", "save_file-0"}


@pytest.fixture
def gateway(store: Store, blobs: LocalBlobs, clock: SettableClock) -> LocalGateway:
    dice = fixed_dice(lambda: 0.0, new_job_id)
    return LocalGateway(store, blobs=blobs, dice=dice, monotonic=lambda: clock.now().timestamp())


async def _answers(gate: WorkerGateway, things: Things) -> dict[str, str]:
    return {name: await outcome(ask(gate, things)) for name, ask in _QUESTIONS}


def test_there_is_a_question_for_every_method() -> None:
    assert set(WORKER) == methods(WorkerGateway)


async def test_what_another_tenant_has_is_answered_like_what_is_not_there(
    store: Store, desk: FrontDesk, blobs: LocalBlobs, gateway: LocalGateway, things: Things
) -> None:
    await settle_bits(desk, store)
    gate = bound_gateway(gateway, BITS)
    before = await _answers(gate, things)
    await settle_acme(desk, store, blobs, things)
    had = await everything_of(desk, things)
    assert await _answers(gate, things) == before
    with pytest.raises(SessionLost):
        await take_session(gate, things)
    assert await everything_of(desk, things) == had


_TELLING = [(name, ask) for name, ask in _QUESTIONS if name not in _NEVER_TELLING]


@pytest.mark.parametrize(("name", "ask"), _TELLING, ids=[name for name, _ in _TELLING])
@pytest.mark.parametrize("address", [":memory:"])
async def test_each_question_does_something_where_there_is_no_wall(
    store: Store,
    desk: FrontDesk,
    blobs: LocalBlobs,
    gateway: LocalGateway,
    things: Things,
    name: str,
    ask: Ask,
) -> None:
    await settle_bits(desk, store)
    before = await outcome(ask(gateway, things))
    await settle_acme(desk, store, blobs, things)
    await store.submit([new_job(queue=SHARED, tenant=ACME)])
    had = await everything_of(desk, things)
    after = await outcome(ask(gateway, things))
    assert (after, await everything_of(desk, things)) != (before, had)


# --- what is one's own ------------------------------------------------------------------------


class _Worker:
    """A worker of one tenant, on a gateway that is bound to it."""

    def __init__(self, gate: WorkerGateway) -> None:
        self.gate = gate
        self.id = b""

    async def open(self, handlers: Sequence[HandlerInfo] = (), **given: Any) -> None:
        session = new_session(**given)
        self.id = session.id
        await self.gate.open_session(session, handlers)

    async def claim(self) -> list[Claimed]:
        return await self.gate.claim(claim_ask(self.id))


@pytest.fixture
async def worker(gateway: LocalGateway) -> _Worker:
    made = _Worker(bound_gateway(gateway, BITS))
    await made.open()
    return made


async def _submitted(store: Store, tenant: str, **given: Any) -> bytes:
    job = new_job(tenant=tenant, **given)
    await store.submit([job])
    return job.id


async def test_a_bound_worker_does_for_its_tenant_all_that_a_worker_does(
    store: Store, desk: FrontDesk, worker: _Worker
) -> None:
    gate = worker.gate
    assert await worker.claim() == []
    theirs, own = await _submitted(store, ACME), await _submitted(store, BITS)
    assert await gate.wait_for_work(worker.id, ["default"], 0.0)
    (job,) = await worker.claim()
    assert job.job_id == own
    assert await gate.payload(job) == b"{}"
    assert not (await gate.beat(worker.id)).drain
    assert (await gate.pulse(worker.id, [(own, 1)], [progress(job, 3.0)])).lost == ()
    assert (await desk.get_job(own)).progress_done == 3.0
    await gate.append_logs([log_line(job)])
    assert len(await desk.list_logs(own)) == 1
    reference = await gate.save_file(own, 1, "note.txt", b"note")
    assert f"/{BITS}/" in reference
    assert await gate.report([Report(own, 1, Succeeded())]) == [True]
    assert await worker.claim() == []
    assert not await gate.wait_for_work(worker.id, ["default"], 0.0)
    assert (await desk.get_job(theirs)).state is JobState.READY
    await gate.drain_session(worker.id)
    await gate.close_session(worker.id)
    (found,) = await desk.list_workers()
    assert (found.tenant, found.state) == (BITS, "gone")


async def test_what_a_bound_worker_leaves_behind_is_judged(
    store: Store, desk: FrontDesk, worker: _Worker
) -> None:
    first = await _submitted(store, BITS)
    await worker.claim()
    assert await worker.gate.child_died(worker.id, 0, "killed") == 1
    assert (await desk.get_job(first)).state in (JobState.READY, JobState.RETRYING)
    second = await _submitted(store, BITS, max_crashes=1)
    await worker.claim()
    await worker.gate.close_session(worker.id)
    assert (await desk.get_job(second)).state is JobState.DEAD


async def test_the_watermarks_of_one_tenant_are_not_those_of_another(
    store: Store, gateway: LocalGateway, clock: SettableClock
) -> None:
    workers = [_Worker(bound_gateway(gateway, tenant)) for tenant in (BITS, ACME)]
    for each in workers:
        await each.open()
    theirs = await _submitted(store, ACME)
    clock.advance(0.1)
    own = await _submitted(store, BITS)
    assert [job.job_id for each in workers for job in await each.claim()] == [own, theirs]


async def test_attempts_that_ran_out_are_recovered_whoever_held_them(
    store: Store, desk: FrontDesk, worker: _Worker, clock: SettableClock
) -> None:
    session = new_session(tenant=ACME, lease_ms=1_000)
    await store.open_session(session)
    theirs = await _submitted(store, ACME)
    await store.claim(claim_ask(session.id, tenant=ACME))
    clock.advance(5.0)
    assert await worker.claim() == []
    assert (await desk.get_job(theirs)).state is not JobState.RUNNING


async def test_a_payload_is_read_from_where_the_store_says(
    store: Store, blobs: LocalBlobs, worker: _Worker
) -> None:
    foreign = await blobs.put("payload/acme/large", b'{"word":"s3cr3t"}')
    own = await blobs.put("payload/bits/large", b'{"word":"mine"}')
    await _submitted(store, BITS, payload_ref=own)
    (job,) = await worker.claim()
    made_up = msgspec.structs.replace(job, payload_ref=foreign)
    assert await worker.gate.payload(made_up) == b'{"word":"mine"}'
    with pytest.raises(LeaseLost):
        await worker.gate.payload(msgspec.structs.replace(made_up, attempt=2))


async def test_what_a_bound_worker_declares_counts_for_its_tenant(
    store: Store, desk: FrontDesk, gateway: LocalGateway, worker: _Worker
) -> None:
    handlers = [HandlerInfo(kind="tidy", tenant=ACME, queue="ours")]
    await worker.open(handlers)
    assert [(each.tenant, each.queue) for each in await store.list_handlers()] == [(BITS, "ours")]
    await _Worker(gateway).open([HandlerInfo(kind="tidy", queue="all")])
    queues = {}
    for tenant in (ACME, BITS):
        job = await _submitted(store, tenant, kind=KIND, on_exhausted="tidy", max_attempts=1)
        whole = _Worker(gateway)
        await whole.open()
        (claimed,) = await whole.gate.claim(claim_ask(whole.id, lanes=(Lane("default", 9),)))
        assert await gateway.report([Report(job, 1, Failed(ErrorInfo("E", "m")))]) == [True]
        found = await desk.find(f"kind:tidy tenant:{tenant}")
        queues[claimed.tenant] = [each.queue for each in found]
    assert queues == {ACME: ["all"], BITS: ["ours"]}


async def test_a_bound_gateway_is_the_same_when_it_is_asked_for_again(
    gateway: LocalGateway,
) -> None:
    assert bound_gateway(gateway, BITS) is bound_gateway(gateway, BITS)
    assert bound_gateway(gateway, BITS) is not bound_gateway(gateway, ACME)
