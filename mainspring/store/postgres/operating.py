"""Operations: their rows, their members, and the batches that change those."""

from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime, timedelta
from typing import Final

import asyncpg

from mainspring.domain.errors import InvalidId
from mainspring.domain.ids import OPERATION, show
from mainspring.domain.job import JobView
from mainspring.domain.operation import (
    Mark,
    Member,
    MemberView,
    OperationState,
    OperationView,
    Outcome,
    Selection,
    member_of,
)
from mainspring.domain.states import HELD, JobState
from mainspring.ports.operations import Acts, Batch, NewOperation, Picked, Stepped
from mainspring.store import operations
from mainspring.store.auditing import Line, under
from mainspring.store.operations import Standing
from mainspring.store.postgres.auditing import audit
from mainspring.store.postgres.control import (
    cancel_jobs,
    purge_jobs,
    replay_jobs,
    run_jobs_now,
    tell,
)
from mainspring.store.postgres.part import Part
from mainspring.store.postgres.pool import Connection, bind, load
from mainspring.store.postgres.queries import page_ask, page_of
from mainspring.store.postgres.rows import keepable
from mainspring.store.statements import Ask, Statement

_NOW: Final = load("now")
_CREATE: Final = load("create_operation")
_GET: Final = load("get_operation")
_LIST: Final = load("list_operations")
_PICK: Final = load("pick_operations")
_GUARD: Final = load("guard_operation")
_GUARD_ANYHOW: Final = load("guard_operation_anyhow")
_UPDATE: Final = load("update_operation")
_ADD_MEMBERS: Final = load("add_members")
_NEXT_MEMBERS: Final = load("next_members")
_SETTLE_MEMBERS: Final = load("settle_members")
_LIST_MEMBERS: Final = load("list_members")
_FORGET_MEMBERS: Final = load("forget_members")
_FORGET: Final = load("forget_operations")
_GUARD_LIVE: Final = load("guard_live")
_GUARD_DEAD: Final = load("guard_dead")
_STATES: Final = load("get_states")
_LATER_ATTEMPTS: Final = load("find_later_attempts")

_MILLISECOND: Final = timedelta(milliseconds=1)


class Operating(Part):
    """Implements ``OperationStore``."""

    async def act(self, batch: Batch, *, actor: str) -> Acts:
        if not batch.members:
            return Acts([])
        at = self._at()
        return await self._pools.general.transaction(
            lambda connection: _act(connection, batch, at, actor)
        )

    async def create_operation(self, new: NewOperation, *, actor: str) -> OperationView:
        at = self._at()

        async def work(connection: Connection) -> OperationView:
            now = (await _fetch(connection, Ask(_NOW, {"at": at})))[0]["now"]
            view = operations.made(new, keepable(actor), now)
            values: dict[str, object] = {
                "id": new.id,
                "tenant": new.tenant,
                "state": new.state.value,
                "at": now,
                "record": operations.record_of(view),
            }
            if await _fetch(connection, Ask(_CREATE, values)):
                await _audit(connection, at, actor, "operation.create", view)
                return view
            known = await _fetch(connection, Ask(_GET, {"id": new.id}))
            if not known:
                # It is there, and behind the wall of another tenant.
                raise InvalidId("id: this one cannot be used", hint="leave it out")
            return operations.view_of(known[0]["record"])

        return await self._pools.general.transaction(work)

    async def get_operation(self, operation_id: bytes) -> OperationView | None:
        found = await self._pools.general.fetch(_GET, {"id": operation_id}, changes=False)
        return operations.view_of(found[0]["record"]) if found else None

    async def list_operations(
        self,
        *,
        states: frozenset[OperationState] = frozenset(),
        tenant: str | None = None,
        limit: int,
        before: bytes | None = None,
    ) -> list[OperationView]:
        values: dict[str, object] = {
            "states": [state.value for state in states] or None,
            "tenant": tenant,
            "row_limit": limit,
            "before": before,
        }
        found = await self._pools.general.fetch(_LIST, values, changes=False)
        return [operations.view_of(row["record"]) for row in found]

    async def turn_operation(
        self,
        operation_id: bytes,
        to: OperationState,
        *,
        since: frozenset[OperationState],
        reason: str = "",
        actor: str,
    ) -> OperationView | None:
        at = self._at()

        async def work(connection: Connection) -> OperationView | None:
            held = await _guard(connection, _GUARD_ANYHOW, operation_id, at)
            if held is None or held[0].state not in since:
                return None if held is None else held[0]
            view, now = held
            view = operations.turned(view, to, keepable(reason), keepable(actor), now)
            await _update(connection, view, now)
            await _audit(connection, at, actor, f"operation.{to}", view)
            return view

        return await self._pools.general.transaction(work)

    async def pick_operations(self, limit: int) -> Picked:
        values: dict[str, object] = {"at": self._at(), "row_limit": limit}
        found = await self._pools.general.fetch(_PICK, values, changes=False)
        waits = [row["step_at"] - row["now"] for row in found]
        ids = [row["id"] for row, wait in zip(found, waits, strict=True) if wait <= timedelta()]
        later = [wait for wait in waits if wait > timedelta()]
        return Picked(ids, -(-min(later) // _MILLISECOND) if later else None)

    async def freeze_members(
        self, operation_id: bytes, *, looks: int, most: int
    ) -> OperationView | None:
        at = self._at()

        async def work(connection: Connection) -> OperationView | None:
            held = await _guard(connection, _GUARD, operation_id, at)
            if held is None or held[0].is_frozen:
                return None if held is None else held[0]
            view, now = held
            view = await _freeze(connection, view, at, looks=looks, most=most)
            await _update(connection, view, now)
            return view

        return await self._pools.operations.transaction(work)

    async def act_on_members(
        self, operation_id: bytes, *, limit: int, refusal: str | None = None
    ) -> Stepped | None:
        at = self._at()

        async def work(connection: Connection) -> Stepped | None:
            held = await _guard(connection, _GUARD, operation_id, at)
            if held is None or not held[0].is_frozen:
                return None
            view, now = held
            return await _step(connection, view, at, now, limit=limit, refusal=refusal)

        return await self._pools.operations.transaction(work)

    async def list_members(
        self,
        operation_id: bytes,
        *,
        outcomes: frozenset[Outcome] = frozenset(),
        after: bytes | None = None,
        limit: int,
    ) -> list[MemberView]:
        values: dict[str, object] = {
            "id": operation_id,
            "outcomes": [outcome.value for outcome in outcomes] or None,
            "after": after,
            "row_limit": limit,
        }
        found = await self._pools.general.fetch(_LIST_MEMBERS, values, changes=False)
        return [
            MemberView(
                row["job_id"], JobState(row["state"]), Outcome(row["outcome"]), row["reason"]
            )
            for row in found
        ]

    async def forget_operations(
        self, ended_before: datetime, previewed_before: datetime, *, limit: int
    ) -> int:
        values: dict[str, object] = {
            "before": ended_before, "previewed_before": previewed_before, "row_limit": limit,
        }  # fmt: skip
        members = await self._pools.general.fetch(_FORGET_MEMBERS, values, changes=True)
        rows = await self._pools.general.fetch(_FORGET, values, changes=True)
        return len(members) + len(rows)


async def _fetch(connection: Connection, ask: Ask) -> Sequence[asyncpg.Record]:
    return await connection.fetch(ask.statement.text, *bind(ask.statement, ask.values))


async def _guard(
    connection: Connection, statement: Statement, operation_id: bytes, at: datetime | None
) -> tuple[OperationView, datetime] | None:
    rows = await _fetch(connection, Ask(statement, {"id": operation_id, "at": at}))
    return (operations.view_of(rows[0]["record"]), rows[0]["now"]) if rows else None


async def _update(connection: Connection, view: OperationView, now: datetime) -> None:
    values: dict[str, object] = {
        "id": view.id,
        "state": view.state.value,
        "step_at": operations.step_at(view, now),
        "ended_at": view.ended_at,
        "record": operations.record_of(view),
    }
    await _fetch(connection, Ask(_UPDATE, values))


async def _audit(
    connection: Connection, at: datetime | None, actor: str, action: str, view: OperationView
) -> None:
    line = Line(show(OPERATION, view.id), view.tenant, operations.told(view))
    await tell(connection, audit(at, actor, action, [line]))


# --- finding members --------------------------------------------------------------------------


async def _freeze(
    connection: Connection, view: OperationView, at: datetime | None, *, looks: int, most: int
) -> OperationView:
    selection = Selection(view.action, view.query, view.until, view.tenant)
    if selection.is_empty:
        return view.after_freezing(0, 0, None, most)
    ask = page_ask(selection.filter, at, limit=looks, before=view.cursor)
    page = page_of(await _fetch(connection, ask), looks)
    found = [job for job in page.items if selection.admits(job)]
    found = await _without_later(connection, found, view.until)
    if found:
        await _fetch(connection, Ask(_ADD_MEMBERS, _columns(view.id, map(member_of, found))))
    return view.after_freezing(len(page.items), len(found), page.next_before, most)


async def _without_later(
    connection: Connection, jobs: list[JobView], until: datetime
) -> list[JobView]:
    """Return those of which no attempt ended after an instant."""
    begun = [job.id for job in jobs if job.attempt and job.state not in HELD]
    if not begun:
        return jobs
    rows = await _fetch(connection, Ask(_LATER_ATTEMPTS, {"ids": begun, "until": until}))
    later = {row["job_id"] for row in rows}
    return [job for job in jobs if job.id not in later]


def _columns(operation_id: bytes, members: Iterable[Member]) -> dict[str, object]:
    members = tuple(members)
    return {
        "id": operation_id,
        "job_ids": [member.job_id for member in members],
        "due_ats": [member.mark.due_at for member in members],
        "attempts": [member.mark.attempt for member in members],
        "replays": [member.mark.replays for member in members],
        "states": [member.state.value for member in members],
    }


# --- deciding members -------------------------------------------------------------------------


async def _step(
    connection: Connection,
    view: OperationView,
    at: datetime | None,
    now: datetime,
    *,
    limit: int,
    refusal: str | None,
) -> Stepped:
    room = view.room(limit)
    values: dict[str, object] = {"id": view.id, "after": view.cursor, "row_limit": room + 1}
    rows = await _fetch(connection, Ask(_NEXT_MEMBERS, values))
    batch = operations.batch_of(view, map(_member, rows[:room]))
    if refusal is not None:
        acts = Acts(operations.refused(batch, keepable(refusal)))
    else:
        acts = await _act(connection, batch, at, view.created_by)
    if acts.members:
        await _fetch(connection, Ask(_SETTLE_MEMBERS, _settled(view.id, acts.members)))
    view = view.after_batch(acts.members, is_last=len(rows) <= room, now=now)
    await _update(connection, view, now)
    return Stepped(view, acts)


def _member(row: asyncpg.Record) -> Member:
    state = JobState(row["state"])
    return Member(row["job_id"], state, _mark(row, is_final=state is JobState.DEAD))


def _mark(row: asyncpg.Record, *, is_final: bool) -> Mark:
    return Mark(is_final, row["attempt"], row["replays"], row["due_at"])


def _settled(operation_id: bytes, members: Sequence[MemberView]) -> dict[str, object]:
    return {
        "id": operation_id,
        "job_ids": [member.job_id for member in members],
        "outcomes": [member.outcome.value for member in members],
        "reasons": [member.reason for member in members],
    }


async def _act(connection: Connection, batch: Batch, at: datetime | None, actor: str) -> Acts:
    if not batch.members:
        return Acts([])
    ids = [member.job_id for member in batch.members]
    found = await _standings(connection, ids)
    missing = [job_id for job_id in ids if job_id not in found]
    existing: set[bytes] = set()
    if missing:
        sought: dict[str, object] = {"at": at, "ids": missing, "finished_after": None}
        existing = {row["id"] for row in await _fetch(connection, Ask(_STATES, sought))}
    changed, acts = await _change(connection, batch, found, at, actor)
    members = operations.outcomes(batch, found, existing, changed)
    return Acts(members, acts.topics, acts.references)


async def _standings(connection: Connection, ids: Sequence[bytes]) -> dict[bytes, Standing]:
    found: dict[bytes, Standing] = {}
    for statement, is_final in ((_GUARD_LIVE, False), (_GUARD_DEAD, True)):
        for row in await _fetch(connection, Ask(statement, {"ids": sorted(ids)})):
            found[row["id"]] = Standing(_mark(row, is_final=is_final), row["queue"])
    return found


async def _change(
    connection: Connection,
    batch: Batch,
    found: Mapping[bytes, Standing],
    at: datetime | None,
    actor: str,
) -> tuple[set[bytes], Acts]:
    """Carry a batch out on what stands as it is marked."""
    live, dead = operations.unmoved(batch, found)
    detail = operations.of_operation(batch)
    if batch.action == "cancel":
        acted = await cancel_jobs(connection, at, live, reason=batch.reason, force=batch.force)
        told = detail | {"reason": batch.reason, "force": batch.force}
        lines = under([each.line for each in acted.values()], told)
        await tell(connection, audit(at, actor, "job.cancel", lines))
        changed = {job_id for job_id, each in acted.items() if each.line is not None}
        return changed, Acts([], operations.cancel_topics([each.result for each in acted.values()]))
    if batch.action == "purge":
        purged = await purge_jobs(connection, dead)
        lines = under([each.line for each in purged.values()], detail)
        await tell(connection, audit(at, actor, "job.purge", lines))
        references = tuple(each for several in purged.values() for each in several.references)
        return set(purged), Acts([], references=references)
    moved = await run_jobs_now(connection, at, live)
    await tell(connection, audit(at, actor, "job.run_now", under(moved.values(), detail)))
    revived = await replay_jobs(connection, at, dead, batch.payload)
    await tell(connection, audit(at, actor, "job.replay", under(revived.values(), detail)))
    changed = set(moved) | set(revived)
    return changed, Acts([], operations.queue_topics(found[job_id] for job_id in changed))
