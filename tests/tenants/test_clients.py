"""Every method of a client's gateway, asked by one tenant about what another one has."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import timedelta

import msgspec
import pytest

from mainspring.domain.errors import Forbidden, InvalidId, InvalidInput, NotFound, UnknownKind
from mainspring.domain.ids import show_job
from mainspring.domain.job import HandlerInfo, JobFilter
from mainspring.domain.states import JobState
from mainspring.integrations.local_blobs import LocalBlobs
from mainspring.ports.access import AccessGateway
from mainspring.ports.entropy import new_job_id
from mainspring.ports.gateway import ClientGateway, Submission
from mainspring.ports.operations import OperationAsk, OperationGateway
from mainspring.ports.schedules import ScheduleFilter
from mainspring.ports.scheduling import Application, BackfillAsk, CalendarDraft, ScheduleGateway
from mainspring.ports.store import Store
from mainspring.ports.webhooks import WebhookGateway
from mainspring.registry.bound import bound_desk
from mainspring.registry.desk import FrontDesk
from mainspring.testing.builders import KIND, claim_ask, log_line, new_session
from mainspring.testing.clock import SettableClock
from mainspring.testing.conformance.steps import FAILED_FOR_GOOD, accept
from tests.tenants.conftest import ON_POSTGRES
from tests.tenants.neighbours import (
    ACME,
    BITS,
    SECRET,
    Things,
    draft,
    everything_of,
    outcome,
    settle_acme,
    settle_bits,
)
from tests.tenants.questions import (
    ACCESS,
    CLIENT,
    OPERATIONS,
    SCHEDULES,
    WEBHOOKS,
    Ask,
    methods,
    numbered,
)

_QUESTIONS = numbered(
    dict(CLIENT)
    | {f"schedules.{name}": asks for name, asks in SCHEDULES.items()}
    | {f"operations.{name}": asks for name, asks in OPERATIONS.items()}
    | {f"webhooks.{name}": asks for name, asks in WEBHOOKS.items()}
    | {f"access.{name}": asks for name, asks in ACCESS.items()}
)
#: About the asker's own, by a name; or never answered with anything of anybody.
_NEVER_TELLING = {
    "access.put_tenant-0",
    "close-0",
    "now-0",
    "operations.start-0",
    "pause_queue-0",
    "resume_queue-0",
    "schedules.apply-0",
    "schedules.calendar-0",
    "schedules.calendars-0",
    "schedules.edit-1",
    "schedules.get-1",
    "schedules.get-3",
    "schedules.preview-0",
    "schedules.preview-1",
    "schedules.put_calendar-0",
    "schedules.remove_calendar-0",
    "submit-0",
    "submit-1",
    "webhooks.create-0",
    # The dead letter is no delivery.
    "webhooks.redeliver-0",
}
#: Not in the database: a reference has the hash of the file in it, so nobody makes one up.
_WITHOUT_SECOND_WALL = {"read_file-0"}


def _of(gate: ClientGateway, name: str) -> object:
    part, dot, _ = name.partition(".")
    return getattr(gate, part) if dot else gate


async def _answers(gate: ClientGateway, things: Things) -> dict[str, str]:
    return {name: await outcome(ask(_of(gate, name), things)) for name, ask in _QUESTIONS}


def _differences(before: Mapping[str, str], after: Mapping[str, str]) -> dict[str, object]:
    return {name: (before[name], after[name]) for name in before if before[name] != after[name]}


def test_there_is_a_question_for_every_method() -> None:
    assert set(CLIENT) == methods(ClientGateway)
    assert set(SCHEDULES) == methods(ScheduleGateway)
    assert set(OPERATIONS) == methods(OperationGateway)
    assert set(ACCESS) == methods(AccessGateway)
    assert set(WEBHOOKS) == methods(WebhookGateway)


async def test_what_another_tenant_has_is_answered_like_what_does_not_exist(
    store: Store, desk: FrontDesk, blobs: LocalBlobs, things: Things
) -> None:
    await settle_bits(desk, store)
    gate = bound_desk(desk, BITS)
    before = await _answers(gate, things)
    await settle_acme(desk, store, blobs, things)
    had = await everything_of(desk, things)
    after = await _answers(gate, things)
    assert _differences(before, after) == {}
    assert await everything_of(desk, things) == had


_TELLING = [(name, ask) for name, ask in _QUESTIONS if name not in _NEVER_TELLING]


@pytest.mark.parametrize(("name", "ask"), _TELLING, ids=[name for name, _ in _TELLING])
@pytest.mark.parametrize("address", [":memory:"])
async def test_each_question_finds_out_where_there_is_no_wall(
    store: Store, desk: FrontDesk, blobs: LocalBlobs, things: Things, name: str, ask: Ask
) -> None:
    await settle_bits(desk, store)
    before = await outcome(ask(_of(desk, name), things))
    await settle_acme(desk, store, blobs, things)
    assert await outcome(ask(_of(desk, name), things)) != before


@pytest.mark.parametrize("address", ON_POSTGRES, indirect=True)
async def test_the_second_wall_stands_alone(
    store: Store, desk: FrontDesk, blobs: LocalBlobs, things: Things
) -> None:
    await settle_bits(desk, store)
    await settle_acme(desk, store, blobs, things)
    had = await everything_of(desk, things)
    gate = FrontDesk(store.bound(BITS), blobs=blobs, new_id=new_job_id)
    answers = await _answers(gate, things)
    leaks = {name: text for name, text in answers.items() if SECRET in text}
    asked_with_it = {name for name, text in leaks.items() if f"'{SECRET}.work'" in text}
    assert set(leaks) - asked_with_it - _WITHOUT_SECOND_WALL == set()
    assert await everything_of(desk, things) == had
    # It keeps out what is others', and lets through what is one's own.
    assert sum((await gate.count_states()).values()) == 1
    assert [view.tenant for view in await gate.schedules.list(ScheduleFilter())] == [BITS]
    assert [worker.tenant for worker in await gate.list_workers()] == [BITS]


# --- what is one's own ------------------------------------------------------------------------


async def test_a_bound_desk_does_for_its_tenant_all_that_a_desk_does(
    store: Store, desk: FrontDesk, clock: SettableClock
) -> None:
    gate = bound_desk(desk, BITS)
    wanted = Submission(kind=KIND, kind_is_known=True)
    named = msgspec.structs.replace(wanted, tenant=BITS)
    first, second = await gate.submit([wanted, named])
    assert [(await desk.get_job(each.job_id)).tenant for each in (first, second)] == [BITS, BITS]
    assert (await gate.get_job(first.job_id)).tenant == BITS
    assert {job.id for job in await gate.find("tenant:bits")} == {first.job_id, second.job_id}
    worker = new_session(tenant=BITS)
    await store.open_session(worker)
    for job in await store.claim(claim_ask(worker.id, tenant=BITS)):
        await store.append_logs([log_line(job)])
        await accept(store, job, FAILED_FOR_GOOD)
    assert len(await gate.list_logs(first.job_id)) == 1
    assert len(await gate.list_attempts(first.job_id)) == 1
    assert [group.jobs for group in await gate.list_groups(JobFilter())] == [2]
    assert await gate.replay([first.job_id], actor="bob") == [first.job_id]
    assert await gate.purge([second.job_id], actor="bob") == 1
    (cancelled,) = await gate.cancel([first.job_id], actor="bob")
    assert (cancelled.state, cancelled.changed) == (JobState.CANCELLED, True)
    assert await gate.count_states() == {JobState.CANCELLED: 1}
    assert await gate.drain_worker(worker.id, actor="bob")


async def test_schedules_of_a_bound_desk_are_its_tenants(
    store: Store, desk: FrontDesk, clock: SettableClock
) -> None:
    gate = bound_desk(desk, BITS).schedules
    assert await gate.put_calendar(CalendarDraft(name="days", entries=("12-25",)), actor="bob") == 0
    await gate.apply(Application(schedules=(draft(calendars=("days",)),), owner="it"), actor="bob")
    view = await gate.get("hourly")
    assert (view.tenant, view.owner) == (BITS, "it")
    assert (await desk.schedules.get("hourly", tenant=BITS)).id == view.id
    assert await gate.pause("hourly", tenant=BITS, actor="bob")
    assert await gate.resume(view.schedule_id, actor="bob")
    job_id = await gate.fire_now("hourly", actor="bob")
    assert (await desk.get_job(job_id)).tenant == BITS
    edited = await gate.edit("hourly", draft(note="mine"), actor="bob")
    assert [each.version for each in await gate.versions("hourly")] == [1, edited.version]
    assert [fire.job_id for fire in await gate.history("hourly")] == [job_id]
    clock.advance(6 * 3_600)
    now = clock.now()
    past = BackfillAsk(from_at=now - timedelta(hours=30), until_at=now - timedelta(hours=28))
    taken = await gate.backfill("hourly", past, actor="bob")
    assert taken.id is not None
    assert await gate.cancel_backfill(taken.id, actor="bob")
    assert (await gate.audit("hourly")).schedule.id == view.id
    assert await gate.remove("hourly", cancel_live=True, actor="bob")
    assert (await desk.get_job(job_id)).state is JobState.CANCELLED


async def test_two_tenants_give_the_same_names(store: Store, desk: FrontDesk) -> None:
    gates = [bound_desk(desk, tenant) for tenant in (ACME, BITS)]
    views = [await gate.schedules.create(draft("nightly"), actor="eve") for gate in gates]
    assert len({view.id for view in views}) == 2
    keyed = Submission(kind=KIND, kind_is_known=True, key="order-1", unique_key="one")
    jobs = [(await gate.submit([keyed]))[0] for gate in gates]
    assert all(each.created for each in jobs)
    assert len({each.job_id for each in jobs}) == 2


async def test_an_id_that_another_tenant_chose_cannot_be_chosen_again(
    store: Store, desk: FrontDesk, blobs: LocalBlobs, things: Things
) -> None:
    await settle_acme(desk, store, blobs, things)
    had = await everything_of(desk, things)
    gate = bound_desk(desk, BITS)
    wanted = Submission(kind=KIND, kind_is_known=True, id=things.waiting)
    with pytest.raises(InvalidId):
        await gate.submit([wanted])
    with pytest.raises(InvalidId) as refused:
        await gate.submit([msgspec.structs.replace(wanted, id=new_job_id()), wanted])
    assert refused.value.details == {"index": 1}
    assert await everything_of(desk, things) == had
    ask = OperationAsk(action="cancel", query="state:dead")
    with pytest.raises(InvalidId):
        await gate.operations.start(ask, operation_id=things.operation, actor="eve")
    assert await everything_of(desk, things) == had
    own = msgspec.structs.replace(wanted, id=new_job_id())
    assert [(await gate.submit([own]))[0].created for _ in range(2)] == [True, False]


async def test_a_tenant_that_is_named_must_be_ones_own(store: Store, desk: FrontDesk) -> None:
    gate = bound_desk(desk, BITS)
    wanted = Submission(kind=KIND, kind_is_known=True)
    for tenant in (ACME, "nobody", "default"):
        other = msgspec.structs.replace(wanted, tenant=tenant)
        with pytest.raises(Forbidden, match=tenant) as refused:
            await gate.submit([wanted, other])
        assert refused.value.details["index"] == 1
        with pytest.raises(Forbidden, match=tenant):
            await gate.schedules.calendars(tenant=tenant)
    assert await desk.count_states() == {}


async def test_kinds_are_ones_own_or_everybodys(store: Store, desk: FrontDesk) -> None:
    for tenant, queue in ((ACME, "theirs"), (BITS, "ours"), ("default", "all")):
        declared = [HandlerInfo(kind=kind, tenant=tenant, queue=queue) for kind in ("a", queue)]
        await store.declare_handlers(declared)
    gate = bound_desk(desk, BITS)
    known = {handler.kind: handler.queue for handler in await gate.list_handlers()}
    assert known == {"a": "ours", "ours": "ours", "all": "all"}
    (job,) = await gate.submit([Submission(kind="a")])
    assert (await gate.get_job(job.job_id)).queue == "ours"
    (job,) = await desk.submit([Submission(kind="a")])
    assert (await desk.get_job(job.job_id)).queue == "all"
    with pytest.raises(UnknownKind):
        await gate.submit([Submission(kind="theirs")])


async def test_files_are_those_of_ones_own_jobs(
    store: Store, desk: FrontDesk, blobs: LocalBlobs, things: Things
) -> None:
    await settle_acme(desk, store, blobs, things)
    assert await bound_desk(desk, ACME).read_file(things.file) == await desk.read_file(things.file)
    gate = bound_desk(desk, BITS)
    (own,) = await gate.submit([Submission(kind=KIND, kind_is_known=True)])
    crossed = things.file.replace(show_job(things.running), show_job(own.job_id))
    for reference in (things.file, crossed, crossed.replace(f"/{ACME}/", f"/{BITS}/")):
        with pytest.raises(NotFound) as refused:
            await gate.read_file(reference)
        assert refused.value.message == f"there is no file {reference.partition('#')[0]!r}"
    for reference in ("files/x#1", f"payload/{ACME}/x#1#2", "files/a#b#1#2", "files/a#one#two"):
        with pytest.raises(InvalidInput):
            await gate.read_file(reference)


async def test_a_bound_desk_closes_nothing(store: Store, desk: FrontDesk) -> None:
    await bound_desk(desk, BITS).close()
    assert await desk.count_states() == {}
