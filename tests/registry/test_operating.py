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
    UnknownOption,
)
from mainspring.domain.job import HandlerInfo
from mainspring.domain.operation import OperationOptions, OperationState, OperationView, Outcome
from mainspring.domain.states import JobState
from mainspring.maintenance.operations import Carrying
from mainspring.ports.entropy import new_job_id
from mainspring.ports.gateway import Bulk
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


async def test_a_preview_tells_and_waits(desk: FrontDesk, store: Store) -> None:
    dead = [(await make_dead(store)).job_id for _ in range(7)]
    await finish(store)
    waiting = await submit_one(store, delay_ms=60_000)
    told = await desk.operations.preview(_ask("retry", " kind:test.* "), actor="ada")
    operation = told.operation
    assert (operation.state, operation.query) == (OperationState.PREVIEWED, "kind:test.*")
    assert (operation.progress.matched, operation.progress.matched_is_least) == (8, False)
    assert told.states == {JobState.DEAD: 7, JobState.SCHEDULED: 1}
    assert told.refused == {JobState.SUCCEEDED: 1}
    assert [job.id for job in told.sample] == [waiting, *dead[:2:-1]]
    await Carrying(store, blobs=None).step()
    assert set(await states_of(store, dead)) == {JobState.DEAD}
    assert await desk.operations.get(operation.id) == operation


async def test_a_preview_looks_at_so_many_only(
    desk: FrontDesk, store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(operating, "OPERATION_PREVIEW_JOBS_MAX", 3)
    await submit_many(store, 5)
    told = await desk.operations.preview(_ask("cancel"), actor="ada")
    assert told.operation.progress.matched == 3
    assert told.operation.progress.matched_is_least
    none = await desk.operations.preview(_ask("cancel", "state:dead"), actor="ada")
    assert (none.states, none.refused, none.sample) == ({}, {}, ())


async def test_what_was_previewed_is_what_is_changed(
    desk: FrontDesk, store: Store, clock: SettableClock
) -> None:
    dead = [(await make_dead(store)).job_id for _ in range(3)]
    told = await desk.operations.preview(_ask(), actor="ada")
    clock.advance(60)
    newer = (await make_dead(store)).job_id
    begun = await desk.operations.confirm(told.operation.id, actor="bob")
    assert (begun.state, begun.is_frozen, begun.goal) == (OperationState.RUNNING, True, 3)
    again = await desk.operations.confirm(told.operation.id, actor="bob")
    assert again.version == begun.version
    done = await _to_the_end(store, begun)
    assert (done.state, done.progress.changed) == (OperationState.DONE, 3)
    found = await desk.operations.members(done.id)
    assert [(one.job_id, one.outcome) for one in found] == [
        (each, Outcome.CHANGED) for each in dead
    ]
    assert await states_of(store, [newer]) == [JobState.DEAD]
    with pytest.raises(Conflict, match="is done and cannot be confirmed"):
        await desk.operations.confirm(done.id, actor="bob")


async def test_a_start_is_repeated_by_its_id(desk: FrontDesk, store: Store) -> None:
    await make_dead(store)
    operation_id = new_job_id()
    first = await desk.operations.start(_ask(), operation_id=operation_id, actor="ada")
    again = await desk.operations.start(_ask(), operation_id=operation_id, actor="ada")
    assert (first.id, again.created_at) == (operation_id, first.created_at)
    with pytest.raises(Conflict, match="another one"):
        await desk.operations.start(_ask("purge"), operation_id=operation_id, actor="ada")


async def test_what_may_be_said_when(desk: FrontDesk, store: Store) -> None:
    await make_dead(store)
    desk_ = desk.operations
    made = await desk_.start(_ask(canary=1), actor="ada")
    paused = await desk_.pause(made.id, reason="lunch", actor="bob")
    assert (paused.state, paused.reason, paused.turned_by) == ("paused", "lunch", "bob")
    assert await desk_.pause(made.id, reason="tea", actor="eve") == paused
    assert (await desk_.resume(made.id, actor="bob")).reason == ""
    aborted = await desk_.abort(made.id, reason="wrong", actor="bob")
    assert (aborted.state, aborted.ended_at is not None) == ("aborted", True)
    for say in (desk_.pause, desk_.resume):
        with pytest.raises(Conflict, match="is aborted and cannot be") as refused:
            await say(made.id, actor="bob")
        assert refused.value.details == {"state": "aborted"}
    assert await desk_.abort(made.id, actor="bob") == aborted


async def test_another_tenants_operation_does_not_exist(desk: FrontDesk, store: Store) -> None:
    theirs = await desk.operations.start(_ask(tenant="acme"), actor="ada")
    ours = await desk.operations.start(_ask(), actor="ada")
    assert (await desk.operations.get(theirs.id, tenant="acme")).tenant == "acme"
    for operation_id in (ours.id, theirs.id, new_job_id()):
        for look in (desk.operations.get, desk.operations.members):
            with pytest.raises(NotFound, match="there is no operation op_"):
                await look(operation_id, tenant="other")
        for say in (
            desk.operations.pause,
            desk.operations.resume,
            desk.operations.abort,
            desk.operations.confirm,
        ):
            with pytest.raises(NotFound, match="there is no operation op_"):
                await say(operation_id, tenant="other", actor="x")
    assert [each.id for each in await desk.operations.list(tenant="acme")] == [theirs.id]
    assert {each.id for each in await desk.operations.list()} == {ours.id, theirs.id}
    assert await desk.operations.list(states=["paused"]) == []


async def test_a_payload_is_for_one_kind_and_fits_it(desk: FrontDesk, store: Store) -> None:
    schema = '{"type":"object","properties":{"n":{"type":"integer"}},"required":["n"]}'
    await store.declare_handlers([HandlerInfo(kind="test.work", schema=schema)])
    dead = (await make_dead(store, kind="test.work")).job_id
    with pytest.raises(InvalidInput, match="the jobs of one kind"):
        await desk.operations.start(_ask(query="state:dead", payload='{"n":1}'), actor="ada")
    with pytest.raises(InvalidPayload):
        await desk.operations.start(_ask(query="kind:test.work", payload='{"n":"x"}'), actor="ada")
    made = await desk.operations.start(_ask(query="kind:test.work", payload='{"n":1}'), actor="ada")
    await _to_the_end(store, made)
    assert (await view(store, dead)).payload == b'{"n":1}'


async def test_waiting_ends_when_something_changed(desk: FrontDesk, store: Store) -> None:
    made = await desk.operations.start(_ask(), actor="ada")
    assert await desk.operations.wait_for_change(made.id, None, 60) == made
    assert await desk.operations.wait_for_change(made.id, made, 0) == made
    paused = await desk.operations.pause(made.id, actor="ada")
    assert await desk.operations.wait_for_change(made.id, made, 60) == paused


async def test_a_running_job_can_be_cancelled_by_an_operation(
    desk: FrontDesk, store: Store
) -> None:
    running = await start(store)
    made = await desk.operations.start(
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
    desk: FrontDesk, store: Store, given: dict[str, Any], error: type[Exception], words: str
) -> None:
    for ask in (desk.operations.preview, desk.operations.start):
        with pytest.raises(error, match=words):
            await ask(_ask(**given), actor="ada")
    assert await desk.operations.list() == []


async def test_bad_questions_are_refused(desk: FrontDesk) -> None:
    made = await desk.operations.start(_ask(), actor="ada")
    with pytest.raises(InvalidInput, match="limit: 501"):
        await desk.operations.list(limit=501)
    with pytest.raises(UnknownOption, match="states: there is no 'stopped'"):
        await desk.operations.list(states=["stopped"])
    with pytest.raises(UnknownOption, match="outcomes: there is no 'ok'"):
        await desk.operations.members(made.id, outcomes=["ok"])
    with pytest.raises(InvalidInput, match="reason"):
        await desk.operations.abort(made.id, reason="\0", actor="ada")


async def test_an_earlier_instant_means_the_jobs_of_then(
    desk: FrontDesk, store: Store, clock: SettableClock
) -> None:
    dead = (await make_dead(store)).job_id
    then = clock.now()
    clock.advance(timedelta(hours=1))
    await make_dead(store)
    made = await desk.operations.start(_ask(until=then), actor="ada")
    await _to_the_end(store, made)
    assert [one.job_id for one in await desk.operations.members(made.id)] == [dead]


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
