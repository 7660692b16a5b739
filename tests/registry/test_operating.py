"""The desk for operations: what it refuses, what it foresees, and what may be said when."""

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from mainspring.domain.errors import (
    Conflict,
    Forbidden,
    InvalidInput,
    InvalidPayload,
    InvalidQuery,
    NotFound,
    SubmissionKeyReused,
    UnknownOption,
)
from mainspring.domain.job import HandlerInfo
from mainspring.domain.operation import OperationOptions, OperationState, OperationView, Outcome
from mainspring.domain.states import JobState
from mainspring.maintenance.operations import Carrying
from mainspring.ports.entropy import new_job_id
from mainspring.ports.gateway import Bulk, ClientGateway
from mainspring.ports.operations import OperationAsk
from mainspring.ports.store import Store
from mainspring.registry import operating
from mainspring.registry.bound import bound_desk
from mainspring.registry.desk import FrontDesk
from mainspring.testing.clock import SettableClock
from mainspring.testing.conformance.steps import (
    finish,
    make_dead,
    start,
    states_of,
    submit_many,
    submit_one,
    view,
)


def _ask(action: str = "replay", query: str = "kind:test.*", **given: Any) -> OperationAsk:
    names = set(OperationAsk.__struct_fields__)
    asked = {name: given.pop(name) for name in names & given.keys()}
    return OperationAsk(action=action, query=query, options=OperationOptions(**given), **asked)


async def _to_the_end(store: Store, operation: OperationView) -> OperationView:
    role = Carrying(store, blobs=None)
    for _ in range(1_000):
        found = await store.get_operation(operation.id)
        assert found is not None
        if found.state is not OperationState.RUNNING:
            return found
        await role.step()
    raise AssertionError("an operation that never ends")


async def test_a_preview_tells_and_waits(gateway: ClientGateway, store: Store) -> None:
    dead = [(await make_dead(store)).job_id for _ in range(7)]
    await finish(store)
    waiting = await submit_one(store, delay_ms=60_000)
    told = await gateway.operations.preview(_ask("retry", " kind:test.* "), actor="ada")
    operation = told.operation
    assert (operation.state, operation.query) == (OperationState.PREVIEWED, "kind:test.*")
    assert (operation.progress.matched, operation.progress.matched_is_least) == (8, False)
    assert told.states == {JobState.DEAD: 7, JobState.SCHEDULED: 1}
    assert told.refused == {JobState.SUCCEEDED: 1}
    assert [job.id for job in told.sample] == [waiting, *dead[:2:-1]]
    await Carrying(store, blobs=None).step()
    assert set(await states_of(store, dead)) == {JobState.DEAD}
    assert await gateway.operations.get(operation.id) == operation


async def test_a_preview_looks_at_so_many_only(
    gateway: ClientGateway, store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(operating, "OPERATION_PREVIEW_JOBS_MAX", 3)
    await submit_many(store, 5)
    told = await gateway.operations.preview(_ask("cancel"), actor="ada")
    assert told.operation.progress.matched == 3
    assert told.operation.progress.matched_is_least
    none = await gateway.operations.preview(_ask("cancel", "state:dead"), actor="ada")
    assert (none.states, none.refused, none.sample) == ({}, {}, ())


async def test_what_was_previewed_is_what_is_changed(
    gateway: ClientGateway, store: Store, clock: SettableClock
) -> None:
    dead = [(await make_dead(store)).job_id for _ in range(3)]
    told = await gateway.operations.preview(_ask(), actor="ada")
    clock.advance(60)
    newer = (await make_dead(store)).job_id
    begun = await gateway.operations.confirm(told.operation.id, actor="ada")
    assert (begun.state, begun.is_frozen, begun.goal) == (OperationState.RUNNING, True, 3)
    again = await gateway.operations.confirm(told.operation.id, actor="ada")
    assert again.version == begun.version
    done = await _to_the_end(store, begun)
    assert (done.state, done.progress.changed) == (OperationState.DONE, 3)
    found = await gateway.operations.members(done.id)
    assert [(one.job_id, one.outcome) for one in found] == [
        (each, Outcome.CHANGED) for each in dead
    ]
    assert await states_of(store, [newer]) == [JobState.DEAD]
    with pytest.raises(Conflict, match="is done and cannot be confirmed"):
        await gateway.operations.confirm(done.id, actor="ada")


async def test_a_start_is_repeated_by_its_id(gateway: ClientGateway, store: Store) -> None:
    await make_dead(store)
    operation_id = new_job_id()
    first = await gateway.operations.start(_ask(), operation_id=operation_id, actor="ada")
    again = await gateway.operations.start(_ask(), operation_id=operation_id, actor="ada")
    assert (first.id, again.created_at) == (operation_id, first.created_at)
    with pytest.raises(Conflict, match="another one"):
        await gateway.operations.start(_ask("purge"), operation_id=operation_id, actor="ada")


async def test_a_start_is_repeated_by_its_key(
    gateway: ClientGateway, store: Store, clock: SettableClock
) -> None:
    await make_dead(store)
    first = await gateway.operations.start(_ask(), key="tonight", actor="ada")
    other = await gateway.operations.start(_ask(), key="tomorrow", actor="ada")
    clock.advance(timedelta(hours=23))
    again = await gateway.operations.start(_ask(), key="tonight", actor="ada")
    assert (again.id, again.created_at) == (first.id, first.created_at)
    assert {each.id for each in await gateway.operations.list()} == {first.id, other.id}
    with pytest.raises(SubmissionKeyReused):
        await gateway.operations.start(_ask("purge"), key="tonight", actor="ada")
    # A key is of one tenant, as all that it names.
    theirs = await gateway.operations.start(_ask(tenant="acme"), key="tonight", actor="ada")
    assert theirs.tenant == "acme"
    with pytest.raises(InvalidInput):
        await gateway.operations.start(_ask(), key="", actor="ada")


async def test_what_may_be_said_when(gateway: ClientGateway, store: Store) -> None:
    await make_dead(store)
    door = gateway.operations
    made = await door.start(_ask(canary=1), actor="ada")
    paused = await door.pause(made.id, reason="lunch", actor="ada")
    assert (paused.state, paused.reason, paused.turned_by) == ("paused", "lunch", "ada")
    assert await door.pause(made.id, reason="tea", actor="ada") == paused
    assert (await door.resume(made.id, actor="ada")).reason == ""
    aborted = await door.abort(made.id, reason="wrong", actor="ada")
    assert (aborted.state, aborted.ended_at is not None) == ("aborted", True)
    for say in (door.pause, door.resume):
        with pytest.raises(Conflict, match="is aborted and cannot be") as refused:
            await say(made.id, actor="ada")
        assert refused.value.details == {"state": "aborted"}
    assert await door.abort(made.id, actor="ada") == aborted


async def test_another_tenants_operation_does_not_exist(
    gateway: ClientGateway, store: Store
) -> None:
    theirs = await gateway.operations.start(_ask(tenant="acme"), actor="ada")
    ours = await gateway.operations.start(_ask(), actor="ada")
    assert (await gateway.operations.get(theirs.id, tenant="acme")).tenant == "acme"
    for operation_id in (ours.id, theirs.id, new_job_id()):
        for look in (gateway.operations.get, gateway.operations.members):
            with pytest.raises(NotFound, match="there is no operation op_"):
                await look(operation_id, tenant="other")
        for say in (
            gateway.operations.pause,
            gateway.operations.resume,
            gateway.operations.abort,
            gateway.operations.confirm,
        ):
            with pytest.raises(NotFound, match="there is no operation op_"):
                await say(operation_id, tenant="other", actor="x")
    assert [each.id for each in await gateway.operations.list(tenant="acme")] == [theirs.id]
    assert {each.id for each in await gateway.operations.list()} == {ours.id, theirs.id}
    assert await gateway.operations.list(states=["paused"]) == []


async def test_a_payload_is_for_one_kind_and_fits_it(gateway: ClientGateway, store: Store) -> None:
    schema = '{"type":"object","properties":{"n":{"type":"integer"}},"required":["n"]}'
    await store.declare_handlers([HandlerInfo(kind="test.work", schema=schema)])
    dead = (await make_dead(store, kind="test.work")).job_id
    with pytest.raises(InvalidInput, match="the jobs of one kind"):
        await gateway.operations.start(_ask(query="state:dead", payload='{"n":1}'), actor="ada")
    with pytest.raises(InvalidPayload):
        await gateway.operations.start(
            _ask(query="kind:test.work", payload='{"n":"x"}'), actor="ada"
        )
    made = await gateway.operations.start(
        _ask(query="kind:test.work", payload='{"n":1}'), actor="ada"
    )
    await _to_the_end(store, made)
    assert (await view(store, dead)).payload == b'{"n":1}'


async def test_waiting_ends_when_something_changed(gateway: ClientGateway, store: Store) -> None:
    made = await gateway.operations.start(_ask(), actor="ada")
    assert await gateway.operations.wait_for_change(made.id, None, 60) == made
    assert await gateway.operations.wait_for_change(made.id, made, 0) == made
    paused = await gateway.operations.pause(made.id, actor="ada")
    assert await gateway.operations.wait_for_change(made.id, made, 60) == paused


async def test_a_running_job_can_be_cancelled_by_an_operation(
    gateway: ClientGateway, store: Store
) -> None:
    running = await start(store)
    made = await gateway.operations.start(
        _ask("cancel", "state:running", reason="stop", force=True), actor="ada"
    )
    await _to_the_end(store, made)
    found = await view(store, running.job_id)
    assert (found.state, found.reason) == (JobState.CANCELLED, "stop")


@pytest.mark.parametrize(
    ("given", "error", "words"),
    [
        ({"action": "replya"}, UnknownOption, "action: there is no 'replya'"),
        ({"query": "stat:dead"}, InvalidQuery, "there is no field 'stat'"),
        ({"query": " "}, InvalidInput, "query: it is empty"),
        ({"limit": 0}, InvalidInput, "limit: 0 is not"),
        ({"limit": 1_000_001}, InvalidInput, "limit: 1000001 is not"),
        ({"canary": 0}, InvalidInput, "canary: 0 is not"),
        ({"canary": True}, InvalidInput, "canary: True is not"),
        ({"rate": 0.0}, InvalidInput, "rate: 0.0 is not"),
        ({"rate": float("inf")}, InvalidInput, "rate: inf is not"),
        ({"rate": float("nan")}, InvalidInput, "rate: nan is not"),
        ({"reason": "\0", "action": "cancel"}, InvalidInput, "reason: "),
        ({"reason": "x"}, InvalidInput, "reason: it is for cancel, not for replay"),
        ({"force": True}, InvalidInput, "force: it is for cancel, not for replay"),
        ({"payload": "{}", "action": "purge"}, InvalidInput, "payload: it is for replay"),
        ({"payload": "{", "query": "kind:a"}, InvalidInput, "payload"),
        ({"tenant": "no tenant"}, InvalidInput, "tenant: 'no tenant' is not a name"),
        ({"until": datetime(2500, 1, 1, tzinfo=UTC)}, InvalidInput, "until: 2500-"),
        ({"until": datetime(2020, 1, 1)}, InvalidInput, "until: 2020-"),  # noqa: DTZ001 - refused
    ],
)
async def test_bad_input_makes_nothing(
    gateway: ClientGateway, store: Store, given: dict[str, Any], error: type[Exception], words: str
) -> None:
    for ask in (gateway.operations.preview, gateway.operations.start):
        with pytest.raises(error, match=words):
            await ask(_ask(**given), actor="ada")
    assert await gateway.operations.list() == []


async def test_lists_go_on_behind_what_was_seen(gateway: ClientGateway, store: Store) -> None:
    dead = [(await make_dead(store)).job_id for _ in range(3)]
    made = [await gateway.operations.start(_ask(limit=3), actor="ada") for _ in range(3)]
    newest = await gateway.operations.list(limit=2)
    assert [each.id for each in newest] == [made[2].id, made[1].id]
    (oldest,) = await gateway.operations.list(limit=2, before=newest[-1].id)
    assert oldest.id == made[0].id
    done = await _to_the_end(store, made[0])
    assert await gateway.operations.get(done.id) == done
    assert done.cursor == dead[-1]
    first = await gateway.operations.members(done.id, limit=2)
    rest = await gateway.operations.members(done.id, limit=2, after=first[-1].job_id)
    assert [each.job_id for each in first + rest] == dead
    assert await gateway.operations.members(done.id, outcomes=["failed"]) == []


async def test_bad_questions_are_refused(gateway: ClientGateway) -> None:
    made = await gateway.operations.start(_ask(), actor="ada")
    with pytest.raises(InvalidInput, match="limit: 501"):
        await gateway.operations.list(limit=501)
    with pytest.raises(UnknownOption, match="states: there is no 'stopped'"):
        await gateway.operations.list(states=["stopped"])
    with pytest.raises(UnknownOption, match="outcomes: there is no 'ok'"):
        await gateway.operations.members(made.id, outcomes=["ok"])
    with pytest.raises(InvalidInput, match="reason"):
        await gateway.operations.abort(made.id, reason="\0", actor="ada")


async def test_an_earlier_instant_means_the_jobs_of_then(
    gateway: ClientGateway, store: Store, clock: SettableClock
) -> None:
    dead = (await make_dead(store)).job_id
    then = clock.now()
    clock.advance(timedelta(hours=1))
    await make_dead(store)
    made = await gateway.operations.start(_ask(until=then), actor="ada")
    await _to_the_end(store, made)
    assert [one.job_id for one in await gateway.operations.members(made.id)] == [dead]


async def test_a_desk_of_one_tenant_knows_no_other_operations(
    desk: FrontDesk, store: Store
) -> None:
    theirs = (await make_dead(store)).job_id
    own = (await make_dead(store, tenant="acme")).job_id
    all_of_it = await desk.operations.start(_ask(), actor="ada")
    await desk.operations.abort(all_of_it.id, actor="ada")
    bound = bound_desk(desk, "acme").operations
    told = await bound.preview(_ask(), actor="bob")
    assert (told.operation.tenant, told.states) == ("acme", {JobState.DEAD: 1})
    made = await bound.confirm(told.operation.id, actor="bob")
    await _to_the_end(store, made)
    assert await states_of(store, [own, theirs]) == [JobState.READY, JobState.DEAD]
    assert [each.id for each in await bound.list()] == [made.id]
    with pytest.raises(NotFound, match="there is no operation op_"):
        await bound.get(all_of_it.id)
    with pytest.raises(NotFound, match="there is no operation op_"):
        await bound.abort(all_of_it.id, actor="bob")
    with pytest.raises(Forbidden, match="'other' is not yours"):
        await bound.start(_ask(tenant="other"), actor="bob")
    wanted = Bulk(action="replay", query="kind:test.*")
    done = await bound_desk(desk, "acme").operate(wanted, dry_run=False, actor="bob")
    assert done.changed == ()
