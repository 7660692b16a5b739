"""Bulk actions as objects: ``OperationStore``."""

from collections.abc import Collection
from datetime import datetime, timedelta
from typing import Any

from mainspring.domain.operation import (
    Mark,
    Member,
    MemberView,
    OperationOptions,
    OperationState,
    OperationView,
    Outcome,
    member_of,
)
from mainspring.domain.states import JobState
from mainspring.ports.operations import Batch, NewOperation, Stepped
from mainspring.ports.store import Store
from mainspring.testing.builders import new_job
from mainspring.testing.clock import SettableClock
from mainspring.testing.conformance.steps import (
    FAILED,
    FAILED_FOR_GOOD,
    Suite,
    accept,
    claim_one,
    make_dead,
    open_worker,
    start,
    state_of,
    states_of,
    submit_one,
    view,
)

_RUNNING = frozenset({OperationState.RUNNING})
_EVERY = frozenset(OperationState)


def an_operation(until: datetime, **changes: Any) -> NewOperation:
    """Return one that brings back every dead letter of the suite's kind."""
    values: dict[str, Any] = {
        "id": new_job().id,
        "tenant": None,
        "action": "replay",
        "query": "kind:test.*",
        "until": until,
        "options": OperationOptions(**changes.pop("options", {})),
        "state": OperationState.RUNNING,
    }
    return NewOperation(**{**values, **changes})


async def begin(store: Store, clock: SettableClock, **changes: Any) -> OperationView:
    """Make an operation about everything up to now; a moment later it is at work."""
    made = await store.create_operation(an_operation(clock.now(), **changes), actor="ada")
    clock.advance(1)
    return made


async def freeze(store: Store, operation: OperationView, looks: int = 500) -> OperationView:
    """Find all members of a running operation."""
    for _ in range(1_000):
        found = await store.freeze_members(operation.id, looks=looks, most=1_000)
        assert found is not None
        if found.is_frozen:
            return found
    raise AssertionError("a set that is never frozen")


async def act_once(store: Store, operation: OperationView, limit: int = 500) -> Stepped:
    """Decide one batch of members."""
    stepped = await store.act_on_members(operation.id, limit=limit)
    assert stepped is not None
    return stepped


async def carry_out(store: Store, operation: OperationView, limit: int = 500) -> OperationView:
    """Freeze, then decide members until the operation runs no more."""
    await freeze(store, operation)
    for _ in range(1_000):
        stepped = await act_once(store, operation, limit)
        if stepped.view.state is not OperationState.RUNNING:
            return stepped.view
    raise AssertionError("an operation that never ends")


async def members_of(
    store: Store, operation: OperationView, outcomes: Collection[Outcome] = ()
) -> list[MemberView]:
    """Return members page by page, two at a time."""
    found: list[MemberView] = []
    while True:
        page = await store.list_members(
            operation.id,
            outcomes=frozenset(outcomes),
            after=found[-1].job_id if found else None,
            limit=2,
        )
        found += page
        if len(page) < 2:
            return found


async def _batch(store: Store, action: str, *job_ids: bytes, **changes: Any) -> Batch:
    members = [member_of(await view(store, job_id)) for job_id in job_ids]
    return Batch(action=action, members=tuple(members), **changes)


def _reasons(members: list[MemberView]) -> list[str]:
    """Return why each was left alone, or ``changed``."""
    return [one.reason or one.outcome.value for one in members]


class ActSuite(Suite):
    """One batch: what stands as it is marked is changed, and everything else left alone."""

    async def test_each_action_changes_what_it_is_about(self, store: Store) -> None:
        dead = (await make_dead(store, queue="default")).job_id
        acts = await store.act(await _batch(store, "replay", dead), actor="me")
        assert (set(acts.topics), _reasons(acts.members)) == ({"queue:default"}, ["changed"])
        assert await state_of(store, dead) is JobState.READY
        waiting = await submit_one(store, delay_ms=60_000, queue="later")
        acts = await store.act(await _batch(store, "retry", waiting), actor="me")
        assert (set(acts.topics), _reasons(acts.members)) == ({"queue:later"}, ["changed"])
        batch = await _batch(store, "cancel", dead, waiting, reason="enough")
        acts = await store.act(batch, actor="me")
        assert (set(acts.topics), _reasons(acts.members)) == ({"done"}, ["changed", "changed"])
        assert (await view(store, dead)).reason == "enough"

    async def test_a_running_job_is_asked_or_forced(self, store: Store) -> None:
        asked, forced = await start(store), await start(store)
        acts = await store.act(await _batch(store, "cancel", asked.job_id), actor="me")
        assert len(acts.topics) == 1
        assert next(iter(acts.topics)).startswith("worker:")
        assert await state_of(store, asked.job_id) is JobState.CANCELLING
        acts = await store.act(await _batch(store, "cancel", asked.job_id), actor="me")
        assert _reasons(acts.members) == ["not_needed"]
        await store.act(await _batch(store, "cancel", forced.job_id, force=True), actor="me")
        assert await state_of(store, forced.job_id) is JobState.CANCELLED

    async def test_a_purge_names_the_objects_that_are_left(self, store: Store) -> None:
        dead = await make_dead(store, payload_ref="blob/1")
        acts = await store.act(await _batch(store, "purge", dead.job_id), actor="me")
        assert acts.references == ("blob/1",)
        assert await store.get_job(dead.job_id) is None

    async def test_a_replay_may_change_the_payload(self, store: Store) -> None:
        dead = (await make_dead(store)).job_id
        await store.act(await _batch(store, "replay", dead, payload='{"n":1}'), actor="me")
        assert (await view(store, dead)).payload == b'{"n":1}'

    async def test_what_moved_is_left_alone(self, store: Store, clock: SettableClock) -> None:
        again, waiting = (await make_dead(store)).job_id, await submit_one(store, delay_ms=60_000)
        running = await start(store)
        purged = (await make_dead(store)).job_id
        retry = await _batch(store, "retry", again, waiting, purged)
        cancel = await _batch(store, "cancel", running.job_id, waiting)
        clock.advance(1)
        await store.purge([purged], actor="other")
        await store.replay([again], payload=None, actor="other")
        await store.run_now([waiting], actor="other")
        await accept(store, running, FAILED, delay_ms=0)
        acts = await store.act(retry, actor="me")
        assert _reasons(acts.members) == ["moved", "moved", "gone"]
        acts = await store.act(cancel, actor="me")
        assert _reasons(acts.members) == ["moved", "moved"]
        assert acts.topics == set()
        assert await states_of(store, [again, waiting]) == [JobState.READY] * 2

    async def test_who_died_again_is_another_dead_letter(
        self, store: Store, clock: SettableClock
    ) -> None:
        dead = (await make_dead(store)).job_id
        batch = await _batch(store, "purge", dead)
        clock.advance(1)
        await store.replay([dead], payload=None, actor="other")
        await accept(store, await claim_one(store, await open_worker(store)), FAILED_FOR_GOOD)
        assert _reasons((await store.act(batch, actor="me")).members) == ["moved"]
        assert await state_of(store, dead) is JobState.DEAD

    async def test_what_has_fallen_due_needs_no_retry(
        self, store: Store, clock: SettableClock
    ) -> None:
        waiting = await submit_one(store, delay_ms=1_000)
        batch = await _batch(store, "retry", waiting)
        clock.advance(1)
        assert _reasons((await store.act(batch, actor="me")).members) == ["not_needed"]

    async def test_nothing_and_nobody(self, store: Store) -> None:
        assert (await store.act(Batch(action="retry", members=()), actor="me")).members == []
        nobody = Member(new_job().id, JobState.DEAD, Mark(True, 1, 0, (await store.now())))
        for action in ("retry", "replay", "purge", "cancel"):
            acts = await store.act(Batch(action=action, members=(nobody,)), actor="me")
            assert _reasons(acts.members) == ["gone"]


class OperationSuite(Suite):
    """Operations are made, looked at and turned."""

    async def test_an_operation_is_kept_as_it_was_made(
        self, store: Store, clock: SettableClock
    ) -> None:
        new = an_operation(clock.now(), tenant="acme", options={"rate": 2.5, "canary": 3})
        made = await store.create_operation(new, actor="ada")
        assert (made.tenant, made.action, made.query) == ("acme", "replay", "kind:test.*")
        assert (made.created_by, made.created_at, made.started_at) == (
            "ada", clock.now(), clock.now(),
        )  # fmt: skip
        assert made.options == OperationOptions(rate=2.5, canary=3)
        assert await store.get_operation(new.id) == made
        clock.advance(1)
        assert await store.create_operation(new, actor="bob") == made
        assert await store.get_operation(new_job().id) is None

    async def test_lists_go_by_state_tenant_and_page(
        self, store: Store, clock: SettableClock
    ) -> None:
        made = [
            await begin(store, clock, tenant="acme" if number % 2 else None) for number in range(5)
        ]
        ids = [each.id for each in made][::-1]
        await store.turn_operation(ids[0], OperationState.PAUSED, since=_RUNNING, actor="me")

        async def listed(**wanted: Any) -> list[bytes]:
            return [each.id for each in await store.list_operations(limit=10, **wanted)]

        assert await listed() == ids
        assert await listed(before=ids[1]) == ids[2:]
        assert await listed(tenant="acme") == [ids[1], ids[3]]
        assert await listed(states=frozenset({OperationState.PAUSED})) == [ids[0]]
        assert len(await store.list_operations(limit=2)) == 2

    async def test_turns_happen_from_the_right_states_only(
        self, store: Store, clock: SettableClock
    ) -> None:
        made = await begin(store, clock)
        paused = await store.turn_operation(
            made.id, OperationState.PAUSED, since=_RUNNING, reason="lunch", actor="bob"
        )
        assert paused is not None
        assert (paused.state, paused.reason) == (OperationState.PAUSED, "lunch")
        assert (paused.turned_by, paused.turned_at) == ("bob", clock.now())
        assert paused.version == made.version + 1
        again = await store.turn_operation(
            made.id, OperationState.PAUSED, since=_RUNNING, reason="tea", actor="eve"
        )
        assert again == paused == await store.get_operation(made.id)
        aborted = await store.turn_operation(
            made.id, OperationState.ABORTED, since=_EVERY, actor="bob"
        )
        assert aborted is not None
        assert aborted.ended_at == clock.now()
        assert (
            await store.turn_operation(
                new_job().id, OperationState.PAUSED, since=_RUNNING, actor="bob"
            )
            is None
        )

    async def test_who_waited_longest_is_picked_first(
        self, store: Store, clock: SettableClock
    ) -> None:
        first, second = await begin(store, clock), await begin(store, clock)
        assert (await store.pick_operations(5)).ids == [first.id, second.id]
        assert (await store.pick_operations(1)).ids == [first.id]
        await store.freeze_members(first.id, looks=5, most=5)
        assert (await store.pick_operations(5)).ids == [second.id, first.id]
        await store.turn_operation(second.id, OperationState.PAUSED, since=_RUNNING, actor="me")
        picked = await store.pick_operations(5)
        assert (picked.ids, picked.wait_ms) == ([first.id], None)

    async def test_what_does_not_run_is_not_worked_on(
        self, store: Store, clock: SettableClock
    ) -> None:
        await make_dead(store)
        made = await begin(store, clock, state=OperationState.PREVIEWED)
        assert made.started_at is None
        for operation_id in (made.id, new_job().id):
            assert await store.freeze_members(operation_id, looks=5, most=5) is None
            assert await store.act_on_members(operation_id, limit=5) is None
        turned = await store.turn_operation(made.id, OperationState.RUNNING, since=_EVERY, actor="")
        assert turned is not None
        assert turned.started_at == clock.now()
        # Nobody acts on half a set.
        assert await store.act_on_members(made.id, limit=5) is None

    async def test_old_ones_are_forgotten_in_steps(
        self, store: Store, clock: SettableClock
    ) -> None:
        dead = [(await make_dead(store)).job_id for _ in range(3)]
        done = await carry_out(store, await begin(store, clock))
        running = await begin(store, clock)
        preview = await begin(store, clock, state=OperationState.PREVIEWED)
        assert [one.job_id for one in await members_of(store, done)] == dead
        past, now = clock.now() - timedelta(days=1), clock.now() + timedelta(seconds=1)
        assert await store.forget_operations(past, past, limit=10) == 0
        counts = [await store.forget_operations(now, past, limit=2) for _ in range(4)]
        assert sum(counts) == 4
        assert await store.get_operation(done.id) is None
        assert await members_of(store, done) == []
        assert await store.forget_operations(past, now, limit=2) == 1
        assert await store.get_operation(preview.id) is None
        assert await store.get_operation(running.id) == running
