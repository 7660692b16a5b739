"""Operations among workers, people and each other, in any order.

Every member of a frozen set is changed exactly once, or left alone with a true reason; and the set
is what it is meant to be: nothing that came or moved after its instant, and nobody left out.
"""

from datetime import timedelta
from typing import Any, NamedTuple

from hypothesis import given, settings
from hypothesis import strategies as st

from mainspring.domain.job import JobFilter, JobView
from mainspring.domain.operation import (
    ELIGIBLE,
    Mark,
    OperationOptions,
    OperationState,
    OperationView,
    Outcome,
    member_of,
)
from mainspring.domain.outcome import Failed, Succeeded
from mainspring.ports.operations import NewOperation
from mainspring.store.sqlite import SqliteStore, open_direct
from mainspring.testing.builders import claim_ask, new_job, new_session, verdict
from mainspring.testing.clock import SettableClock
from mainspring.testing.conformance.steps import BOOM
from mainspring.testing.world import at_once

_ACTIONS = tuple(ELIGIBLE)
_MOVES = (
    "submit", "submit later", "succeed", "fail", "die", "begin", "run now", "replay", "cancel",
    "purge", "wait", "operate", "freeze", "act", "act", "act", "pause", "resume",
)  # fmt: skip
_moves = st.lists(st.tuples(st.sampled_from(_MOVES), st.integers(0, 9)), min_size=10, max_size=80)
_ANY = frozenset(OperationState)


class _Begun(NamedTuple):
    """An operation, and how every job stood at its instant."""

    id: bytes
    action: str
    then: dict[bytes, JobView]


class _World:
    def __init__(self, store: SqliteStore, clock: SettableClock) -> None:
        self.store = store
        self.clock = clock
        self.worker = new_session(lease_ms=10**12)
        self.held: list[Any] = []
        self.begun: list[_Begun] = []
        self.frozen: set[bytes] = set()
        #: By operation: its members as they were marked at its instant.
        self.members: dict[bytes, dict[bytes, Mark]] = {}
        self.decided: dict[bytes, list[bytes]] = {}
        self.changes = 0

    async def jobs(self) -> dict[bytes, JobView]:
        page = await self.store.list_jobs(JobFilter(), limit=5_000, before=None)
        return {job.id: job for job in page.items}

    async def some(self, number: int) -> list[bytes]:
        ids = sorted(await self.jobs())
        return ids[number % 3 :: 3]

    async def move(self, what: str, number: int) -> None:
        self.clock.advance(timedelta(milliseconds=1))
        store = self.store
        match what:
            case "submit" | "submit later":
                delay = 5_000 if what == "submit later" else None
                await store.submit([new_job(delay_ms=delay, max_attempts=9) for _ in range(3)])
            case "begin":
                self.held += await store.claim(claim_ask(self.worker.id, limit=number + 1))
            case "succeed" | "fail" | "die":
                await self._settle(what)
            case "run now":
                await store.run_now(await self.some(number), actor="people")
            case "replay":
                await store.replay(await self.some(number), payload=None, actor="people")
            case "cancel":
                force = number > 4
                await store.cancel(await self.some(number), reason="", force=force, actor="people")
            case "purge":
                await store.purge(await self.some(number), actor="people")
            case "wait":
                self.clock.advance(timedelta(seconds=number))
            case _:
                await self._operate(what, number)

    async def _settle(self, what: str) -> None:
        outcomes: dict[str, Any] = {
            "succeed": Succeeded(),
            "fail": Failed(BOOM),
            "die": Failed(BOOM, permanent=True),
        }
        for claimed in self.held[:3]:
            await self.store.settle([verdict(claimed, outcomes[what])])
        del self.held[:3]

    async def _operate(self, what: str, number: int) -> None:
        if what == "operate":
            await self._begin(_ACTIONS[number % len(_ACTIONS)])
            return
        if not self.begun:
            return
        begun = self.begun[number % len(self.begun)]
        if what == "freeze":
            await self._freeze(begun, number * 3 + 1)
        elif what == "act":
            await self._act(begun, number + 1)
        else:
            to = OperationState.PAUSED if what == "pause" else OperationState.RUNNING
            since = _ANY - {OperationState.DONE}
            await self.store.turn_operation(begun.id, to, since=since, actor="people")

    async def _begin(self, action: str) -> None:
        new = NewOperation(
            id=new_job().id,
            tenant=None,
            action=action,
            query="kind:test.*",
            until=self.clock.now(),
            options=OperationOptions(),
            state=OperationState.RUNNING,
        )
        await self.store.create_operation(new, actor="ada")
        self.begun.append(_Begun(new.id, action, await self.jobs()))
        self.members[new.id] = {}
        self.decided[new.id] = []

    async def _freeze(self, begun: _Begun, looks: int) -> None:
        view = await self.store.freeze_members(begun.id, looks=looks, most=10_000)
        if view is not None and view.is_frozen and begun.id not in self.frozen:
            self.frozen.add(begun.id)
            await self._check_set(begun, view)

    async def _check_set(self, begun: _Begun, view: OperationView) -> None:
        rows = await self.store._engine.read(
            lambda unit: unit.rows(
                "next_members", {"id": begun.id, "after_id": b"", "page_size": 10_000}
            )
        )
        members = {row[0]: (row[2], row[3], row[4]) for row in rows}
        assert view.progress.matched == len(members)
        for job_id, (attempt, replays, _) in members.items():
            # It was there, as it is marked, at the instant.
            mark = member_of(begun.then[job_id]).mark
            assert (mark.attempt, mark.replays) == (attempt, replays)
            self.members[begun.id][job_id] = mark
        now = await self.jobs()
        for job_id, job in begun.then.items():
            is_same = now.get(job_id) == job
            if is_same and job.state in ELIGIBLE[begun.action]:
                assert job_id in members, "somebody was left out"

    async def _act(self, begun: _Begun, limit: int) -> None:
        before = await self.jobs()
        stepped = await self.store.act_on_members(begun.id, limit=limit)
        if stepped is None:
            return
        after = await self.jobs()
        for one in stepped.acts.members:
            self.decided[begun.id].append(one.job_id)
            job = before.get(one.job_id)
            mark = self.members[begun.id][one.job_id]
            stands = job is not None and member_of(job).mark == mark
            if one.outcome is Outcome.CHANGED:
                assert stands
                assert after.get(one.job_id) != job
                self.changes += 1
                continue
            assert after.get(one.job_id) == job
            reasons = {"gone": job is None, "moved": job is not None and not stands}
            assert reasons.get(one.reason or "", stands), (one, job, mark)
        others = before.keys() - {one.job_id for one in stepped.acts.members}
        assert {job_id: before[job_id] for job_id in others} == {
            job_id: after[job_id] for job_id in others
        }

    async def to_the_end(self) -> None:
        for begun in self.begun:
            since = _ANY - {OperationState.DONE}
            await self.store.turn_operation(
                begun.id, OperationState.RUNNING, since=since, actor="people"
            )
            while begun.id not in self.frozen:
                await self._freeze(begun, 3)
            await self._check_end(begun, await self._ended(begun))

    async def _ended(self, begun: _Begun) -> OperationView:
        for _ in range(1_000):
            view = await self.store.get_operation(begun.id)
            assert view is not None
            if view.has_ended:
                return view
            await self._act(begun, 2)
        raise AssertionError("an operation that never ends")

    async def _check_end(self, begun: _Begun, view: OperationView) -> None:
        assert view.state is OperationState.DONE
        # Each member once, none twice, none never; oldest first.
        assert self.decided[begun.id] == sorted(self.members[begun.id])
        members = await self.store.list_members(begun.id, limit=10_000)
        assert [one.job_id for one in members] == self.decided[begun.id]
        progress = view.progress
        assert progress.decided == progress.matched == len(members)
        counted = sum(count for split in progress.report.values() for count in split.values())
        assert counted == len(members)


async def _play(moves: list[tuple[str, int]]) -> None:
    clock = SettableClock()
    store = await open_direct(clock=clock)
    await store.migrate(phase="all")
    world = _World(store, clock)
    await store.open_session(world.worker)
    await world.move("submit", 0)
    for what, number in moves:
        await world.move(what, number)
    await world.to_the_end()
    audited = await store._engine.read(
        lambda unit: unit._connection.execute(
            "SELECT count(*) FROM audit WHERE detail LIKE '%op\\_%' ESCAPE '\\' "
            "AND subject LIKE 'job%'"
        ).fetchone()[0]
    )
    assert audited == world.changes
    await store.close()


@settings(max_examples=150)
@given(_moves)
def test_each_member_is_changed_once_or_left_alone_with_a_reason(
    moves: list[tuple[str, int]],
) -> None:
    at_once(_play(moves))


def test_workers_and_people_come_between() -> None:
    # A claim, a replay and a purge between the freezing and the batch; two operations in turn.
    at_once(
        _play(
            [
                ("submit", 0),
                ("operate", 3),
                ("freeze", 9),
                ("begin", 1),
                ("act", 9),
                ("die", 0),
                ("submit later", 0),
                ("operate", 2),
                ("operate", 1),
                ("freeze", 9),
                ("freeze", 8),
                ("freeze", 1),
                ("freeze", 2),
                ("replay", 0),
                ("replay", 1),
                ("purge", 2),
                ("run now", 3),
                ("act", 1),
                ("act", 2),
                ("act", 1),
            ]
        )
    )
