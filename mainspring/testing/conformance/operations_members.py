"""Members of operations: who they are, and what becomes of each: ``OperationStore``."""

import asyncio

import pytest

from mainspring.domain.job import JobFilter
from mainspring.domain.operation import (
    MemberView,
    OperationState,
    Outcome,
)
from mainspring.domain.outcome import Succeeded
from mainspring.domain.states import JobState
from mainspring.ports.store import Store
from mainspring.testing.clock import SettableClock
from mainspring.testing.conformance.operations import (
    act_once,
    begin,
    carry_out,
    freeze,
    members_of,
)
from mainspring.testing.conformance.steps import (
    FAILED,
    FAILED_FOR_GOOD,
    Suite,
    accept,
    claim_one,
    finish,
    make_dead,
    open_worker,
    start,
    state_of,
    states_of,
    submit_many,
    submit_one,
)

_RUNNING = frozenset({OperationState.RUNNING})
_EVERY = frozenset(OperationState)


class FreezeSuite(Suite):
    """Members are those that stood so at one instant and have not moved since."""

    async def test_what_came_or_moved_later_is_no_member(
        self, store: Store, clock: SettableClock
    ) -> None:
        kept = [(await make_dead(store)).job_id for _ in range(2)]
        again = (await make_dead(store)).job_id
        late = await start(store)
        clock.advance(1)
        made = await begin(store, clock)
        await accept(store, late, FAILED_FOR_GOOD)
        await make_dead(store)
        await store.replay([again], payload=None, actor="other")
        await accept(store, await claim_one(store, await open_worker(store)), FAILED_FOR_GOOD)
        frozen = await freeze(store, made)
        assert (frozen.progress.matched, frozen.progress.matched_is_least) == (2, False)
        done = await carry_out(store, made)
        assert [one.job_id for one in await members_of(store, done)] == kept

    @pytest.mark.parametrize("looks", [1, 2, 500])
    async def test_live_ones_that_moved_are_no_members(
        self, store: Store, clock: SettableClock, looks: int
    ) -> None:
        same = [await submit_one(store, delay_ms=60_000), await submit_one(store, queue="other")]
        moved = await submit_many(store, 3, queue="moving", delay_ms=60_000)
        failing, revived = await start(store), (await make_dead(store)).job_id
        begun = await submit_one(store)
        made = await begin(store, clock, action="cancel")
        await store.run_now(moved, actor="other")
        await accept(store, failing, FAILED, delay_ms=60_000)
        await store.replay([revived], payload=None, actor="other")
        worker = await open_worker(store)
        assert (await claim_one(store, worker, limit=1)).job_id == begun
        frozen = await freeze(store, made, looks)
        assert frozen.progress.matched == 2
        await carry_out(store, made)
        assert [one.job_id for one in await members_of(store, made)] == same

    async def test_it_is_of_its_tenant_and_of_what_can_be_changed(
        self, store: Store, clock: SettableClock
    ) -> None:
        acme = await make_dead(store, tenant="acme")
        await make_dead(store)
        await finish(store, tenant="acme")
        await submit_one(store, tenant="acme")
        made = await begin(store, clock, tenant="acme")
        assert (await freeze(store, made)).progress.matched == 1
        await carry_out(store, made)
        assert [one.job_id for one in await members_of(store, made)] == [acme.job_id]
        nothing = await begin(store, clock, query="state:succeeded")
        done = await carry_out(store, nothing)
        assert (done.state, done.progress.matched) == (OperationState.DONE, 0)

    async def test_nobody_joins_later(self, store: Store, clock: SettableClock) -> None:
        await submit_many(store, 4)
        made = await begin(store, clock, action="cancel")
        frozen = await freeze(store, made)
        await submit_many(store, 4)
        assert await store.freeze_members(made.id, looks=5, most=50) == frozen

    async def test_a_set_ends_at_its_bound(self, store: Store, clock: SettableClock) -> None:
        jobs = sorted(await submit_many(store, 6))
        made = await begin(store, clock, action="cancel")
        await store.freeze_members(made.id, looks=2, most=4)
        found = await store.freeze_members(made.id, looks=2, most=4)
        assert found is not None
        assert found.is_frozen
        assert (found.progress.matched, found.progress.matched_is_least) == (4, True)
        await carry_out(store, made)
        assert [one.job_id for one in await members_of(store, made)] == jobs[2:]


class DecidingSuite(Suite):
    """Members are decided once each, oldest first, as the options say."""

    async def test_batches_go_on_where_the_last_one_ended(
        self, store: Store, clock: SettableClock
    ) -> None:
        dead = [(await make_dead(store)).job_id for _ in range(5)]
        made = await begin(store, clock)
        await freeze(store, made)
        steps = [await act_once(store, made, 2) for _ in range(3)]
        assert [[one.job_id for one in step.acts.members] for step in steps] == [
            dead[:2], dead[2:4], dead[4:],
        ]  # fmt: skip
        done = steps[-1].view
        assert (done.state, done.ended_at) == (OperationState.DONE, clock.now())
        assert (done.progress.changed, done.progress.decided) == (5, 5)
        assert done.progress.report == {"dead": {"changed": 5}}
        assert await store.get_operation(made.id) == done
        assert await store.act_on_members(made.id, limit=2) is None

    async def test_a_report_tells_why_members_were_left_alone(
        self, store: Store, clock: SettableClock
    ) -> None:
        dead = [(await make_dead(store)).job_id for _ in range(4)]
        waiting = await submit_one(store, delay_ms=60_000)
        made = await begin(store, clock, action="retry")
        await freeze(store, made)
        await store.purge(dead[:1], actor="other")
        await store.replay(dead[1:2], payload=None, actor="other")
        done = await carry_out(store, made)
        assert done.progress.report == {
            "dead": {"changed": 2, "left_alone: gone": 1, "left_alone: moved": 1},
            "scheduled": {"changed": 1},
        }
        left = await members_of(store, made, [Outcome.LEFT_ALONE])
        assert [(one.job_id, one.reason) for one in left] == [
            (dead[0], "gone"), (dead[1], "moved"),
        ]  # fmt: skip
        changed = await members_of(store, made, [Outcome.CHANGED])
        assert {one.job_id for one in changed} == {*dead[2:], waiting}
        assert await members_of(store, made, [Outcome.FAILED]) == []

    async def test_a_canary_pauses_by_itself(self, store: Store, clock: SettableClock) -> None:
        dead = [(await make_dead(store)).job_id for _ in range(5)]
        made = await begin(store, clock, options={"canary": 2})
        await freeze(store, made)
        await store.purge(dead[:1], actor="other")
        assert (await act_once(store, made)).view.state is OperationState.RUNNING
        stepped = await act_once(store, made)
        assert stepped.view.state is OperationState.PAUSED
        assert stepped.view.reason.startswith("canary: 2 changed")
        assert await store.act_on_members(made.id, limit=5) is None
        assert await states_of(store, dead[1:3]) == [JobState.READY] * 2
        assert await states_of(store, dead[3:]) == [JobState.DEAD] * 2
        await store.turn_operation(made.id, OperationState.RUNNING, since=_EVERY, actor="me")
        assert (await act_once(store, made)).view.state is OperationState.DONE

    async def test_a_rate_is_kept_between_batches(self, store: Store, clock: SettableClock) -> None:
        for _ in range(5):
            await make_dead(store)
        made = await begin(store, clock, options={"rate": 2.0})
        await freeze(store, made)
        stepped = await act_once(store, made)
        assert len(stepped.acts.members) == 2
        picked = await store.pick_operations(5)
        assert (picked.ids, picked.wait_ms) == ([], 1_000)
        clock.advance(1)
        assert (await store.pick_operations(5)).ids == [made.id]

    async def test_a_limit_takes_the_oldest(self, store: Store, clock: SettableClock) -> None:
        dead = [(await make_dead(store)).job_id for _ in range(5)]
        made = await begin(store, clock, options={"limit": 3})
        done = await carry_out(store, made, 2)
        assert (done.state, done.goal, done.progress.changed) == (OperationState.DONE, 3, 3)
        assert [one.job_id for one in await members_of(store, done)] == dead[:3]
        assert await states_of(store, dead[3:]) == [JobState.DEAD] * 2

    async def test_a_pause_holds_what_is_left(self, store: Store, clock: SettableClock) -> None:
        dead = [(await make_dead(store)).job_id for _ in range(4)]
        made = await begin(store, clock)
        await freeze(store, made)
        await act_once(store, made, 2)
        await store.turn_operation(made.id, OperationState.PAUSED, since=_RUNNING, actor="me")
        assert await store.act_on_members(made.id, limit=2) is None
        assert await states_of(store, dead[2:]) == [JobState.DEAD] * 2
        await store.turn_operation(made.id, OperationState.RUNNING, since=_EVERY, actor="me")
        assert (await act_once(store, made, 2)).view.state is OperationState.DONE

    async def test_a_refusal_changes_nothing_and_is_told(
        self, store: Store, clock: SettableClock
    ) -> None:
        dead = [(await make_dead(store)).job_id for _ in range(2)]
        made = await begin(store, clock)
        await freeze(store, made)
        stepped = await store.act_on_members(made.id, limit=1, refusal="broken")
        assert stepped is not None
        progress = stepped.view.progress
        assert (progress.failed, progress.report) == (1, {"dead": {"failed": 1}})
        assert [(one.job_id, one.message) for one in progress.errors] == [(dead[0], "broken")]
        assert (await act_once(store, made)).view.progress.changed == 1
        assert await states_of(store, dead) == [JobState.DEAD, JobState.READY]

    async def test_many_nodes_change_everything_once(
        self, store: Store, clock: SettableClock
    ) -> None:
        dead = [(await make_dead(store)).job_id for _ in range(12)]
        first, second = await begin(store, clock), await begin(store, clock, action="purge")
        for made in (first, second):
            await freeze(store, made)

        async def node() -> list[MemberView]:
            changed: list[MemberView] = []
            for _ in range(1_000):
                picked = await store.pick_operations(5)
                if not picked.ids:
                    return changed
                for operation_id in picked.ids:
                    stepped = await store.act_on_members(operation_id, limit=2)
                    if stepped is not None:
                        changed += [
                            one for one in stepped.acts.members if one.outcome is Outcome.CHANGED
                        ]
            raise AssertionError("operations that never end")

        nodes = await asyncio.gather(*(node() for _ in range(4)))
        assert sorted(one.job_id for changed in nodes for one in changed) == dead
        for made in (first, second):
            assert [one.job_id for one in await members_of(store, made)] == dead
        page = await store.list_jobs(JobFilter(), limit=50, before=None)
        assert all(job.replays == 1 for job in page.items)

    async def test_what_a_worker_took_is_left_to_it(
        self, store: Store, clock: SettableClock
    ) -> None:
        jobs = sorted(await submit_many(store, 3))
        made = await begin(store, clock, action="cancel")
        await freeze(store, made)
        worker = await open_worker(store)
        claimed = await claim_one(store, worker, limit=1)
        done = await carry_out(store, made)
        assert done.progress.report == {"ready": {"changed": 2, "left_alone: moved": 1}}
        await accept(store, claimed, Succeeded())
        assert await state_of(store, jobs[0]) is JobState.SUCCEEDED
