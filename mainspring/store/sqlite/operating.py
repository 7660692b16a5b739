"""Operations: their rows, their members, and the batches that change those: ``OperationStore``."""

from collections.abc import Mapping
from datetime import datetime
from typing import Final

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
from mainspring.store.sqlite.auditing import audit
from mainspring.store.sqlite.control import (
    cancel_jobs,
    purge_jobs,
    replay_jobs,
    run_jobs_now,
    states_found,
)
from mainspring.store.sqlite.instants import from_us, to_us
from mainspring.store.sqlite.packing import as_json, chunks, pack, positions
from mainspring.store.sqlite.part import Part
from mainspring.store.sqlite.queries import find_page
from mainspring.store.sqlite.unit import Row, Unit

#: After every id.
_NEWEST: Final = b"\xff" * 17
_MILLISECOND_US: Final = 1_000


class Operating(Part):
    """Operations: their rows, their members, and the batches that change those."""

    async def act(self, batch: Batch, *, actor: str) -> Acts:
        return await self._engine.write(lambda unit: _act(unit, batch, actor))

    async def create_operation(self, new: NewOperation, *, actor: str) -> OperationView:
        def work(unit: Unit) -> OperationView:
            known = _find(unit, new.id)
            if known is not None:
                return known
            view = operations.made(new, actor, from_us(unit.now_us))
            values = {
                "id": view.id,
                "tenant": view.tenant,
                "state": view.state,
                "now": unit.now_us,
                "record": operations.record_of(view),
            }
            unit.change("create_operation", values)
            _audit(unit, actor, "operation.create", view)
            return view

        return await self._engine.write(work)

    async def get_operation(self, operation_id: bytes) -> OperationView | None:
        return await self._engine.read(lambda unit: _find(unit, operation_id))

    async def list_operations(
        self,
        *,
        states: frozenset[OperationState] = frozenset(),
        tenant: str | None = None,
        limit: int,
        before: bytes | None = None,
    ) -> list[OperationView]:
        values = {
            "before_id": _NEWEST if before is None else before,
            "states": as_json(sorted(states)) if states else None,
            "tenant": tenant,
            "page_size": limit,
        }
        rows = await self._engine.read(lambda unit: unit.rows("list_operations", values))
        return [operations.view_of(row[0]) for row in rows]

    async def turn_operation(
        self,
        operation_id: bytes,
        to: OperationState,
        *,
        since: frozenset[OperationState],
        reason: str = "",
        actor: str,
    ) -> OperationView | None:
        def work(unit: Unit) -> OperationView | None:
            view = _find(unit, operation_id)
            if view is None or view.state not in since:
                return view
            view = operations.turned(view, to, reason, actor, from_us(unit.now_us))
            _update(unit, view)
            _audit(unit, actor, f"operation.{to}", view)
            return view

        return await self._engine.write(work)

    async def pick_operations(self, limit: int) -> Picked:
        def work(unit: Unit) -> Picked:
            rows = unit.rows("pick_operations", {"page_size": limit})
            waits = [step_at - unit.now_us for _, step_at in rows if step_at > unit.now_us]
            ids = [operation_id for operation_id, step_at in rows if step_at <= unit.now_us]
            return Picked(ids, -(-min(waits) // _MILLISECOND_US) if waits else None)

        return await self._engine.read(work)

    async def freeze_members(
        self, operation_id: bytes, *, looks: int, most: int
    ) -> OperationView | None:
        def work(unit: Unit) -> OperationView | None:
            view = _find_running(unit, operation_id)
            if view is None or view.is_frozen:
                return view
            view = _freeze(unit, view, looks=looks, most=most)
            _update(unit, view)
            return view

        return await self._engine.write(work)

    async def act_on_members(
        self, operation_id: bytes, *, limit: int, refusal: str | None = None
    ) -> Stepped | None:
        def work(unit: Unit) -> Stepped | None:
            view = _find_running(unit, operation_id)
            if view is None or not view.is_frozen:
                return None
            return _step(unit, view, limit=limit, refusal=refusal)

        return await self._engine.write(work)

    async def list_members(
        self,
        operation_id: bytes,
        *,
        outcomes: frozenset[Outcome] = frozenset(),
        after: bytes | None = None,
        limit: int,
    ) -> list[MemberView]:
        values = {
            "id": operation_id,
            "outcomes": as_json(sorted(outcomes)) if outcomes else None,
            "after_id": after or b"",
            "page_size": limit,
        }
        rows = await self._engine.read(lambda unit: unit.rows("list_members", values))
        return [
            MemberView(job_id, JobState(state), Outcome(outcome), reason)
            for job_id, state, outcome, reason in rows
        ]

    async def forget_operations(
        self, ended_before: datetime, previewed_before: datetime, *, limit: int
    ) -> int:
        values = {
            "ended_before": to_us(ended_before),
            "previewed_before": to_us(previewed_before),
            "batch_size": limit,
        }
        return await self._engine.write(
            lambda unit: sum(
                unit.change(name, values) for name in ("forget_members", "forget_operations")
            )
        )


def _find(unit: Unit, operation_id: bytes) -> OperationView | None:
    row = unit.row("get_operation", {"id": operation_id})
    return None if row is None else operations.view_of(row[0])


def _find_running(unit: Unit, operation_id: bytes) -> OperationView | None:
    view = _find(unit, operation_id)
    return view if view is not None and view.state is OperationState.RUNNING else None


def _update(unit: Unit, view: OperationView) -> None:
    values = {
        "id": view.id,
        "state": view.state,
        "step_at": to_us(operations.step_at(view, from_us(unit.now_us))),
        "ended_at": None if view.ended_at is None else to_us(view.ended_at),
        "record": operations.record_of(view),
    }
    unit.change("update_operation", values)


def _audit(unit: Unit, actor: str, action: str, view: OperationView) -> None:
    audit(unit, actor, action, [Line(show(OPERATION, view.id), view.tenant, operations.told(view))])


# --- finding members --------------------------------------------------------------------------


def _freeze(unit: Unit, view: OperationView, *, looks: int, most: int) -> OperationView:
    selection = Selection(view.action, view.query, view.until, view.tenant)
    if selection.is_empty:
        return view.after_freezing(0, 0, None, most)
    page = find_page(unit, selection.filter, looks, view.cursor)
    found = [job for job in page.items if selection.admits(job)]
    found = _without_later(unit, found, view.until)
    for part in chunks([member_of(job) for job in found]):
        entries = [
            (member.state, member.mark.attempt, member.mark.replays, to_us(member.mark.due_at))
            for member in part
        ]
        unit.change_entries("add_members", [member.job_id for member in part], entries, id=view.id)
    return view.after_freezing(len(page.items), len(found), page.next_before, most)


def _without_later(unit: Unit, jobs: list[JobView], until: datetime) -> list[JobView]:
    """Return those of which no attempt ended after an instant."""
    later: set[bytes] = set()
    for part in chunks([job.id for job in jobs if job.attempt and job.state not in HELD]):
        values = {"ids": pack(part), "positions": positions(len(part)), "until": to_us(until)}
        later |= {row[0] for row in unit.rows("find_later_attempts", values)}
    return [job for job in jobs if job.id not in later]


# --- deciding members -------------------------------------------------------------------------


def _step(unit: Unit, view: OperationView, *, limit: int, refusal: str | None) -> Stepped:
    room = view.room(limit)
    values = {"id": view.id, "after_id": view.cursor or b"", "page_size": room + 1}
    rows = unit.rows("next_members", values)
    batch = operations.batch_of(view, map(_member, rows[:room]))
    if refusal is not None:
        acts = Acts(operations.refused(batch, refusal))
    else:
        acts = _act(unit, batch, view.created_by)
    if acts.members:
        entries = [(member.outcome, member.reason) for member in acts.members]
        ids = [member.job_id for member in acts.members]
        unit.change_entries("settle_members", ids, entries, id=view.id)
    now = from_us(unit.now_us)
    view = view.after_batch(acts.members, is_last=len(rows) <= room, now=now)
    _update(unit, view)
    return Stepped(view, acts)


def _member(row: Row) -> Member:
    job_id, word, attempt, replays, due_us = row
    state = JobState(word)
    return Member(job_id, state, Mark(state is JobState.DEAD, attempt, replays, from_us(due_us)))


def _act(unit: Unit, batch: Batch, actor: str) -> Acts:
    ids = [member.job_id for member in batch.members]
    found: dict[bytes, Standing] = {}
    existing: set[bytes] = set()
    for part in chunks(ids):
        values = {"ids": pack(part), "positions": positions(len(part))}
        for job_id, attempt, replays, due_us, queue, is_final in unit.rows("find_marks", values):
            mark = Mark(bool(is_final), attempt, replays, from_us(due_us))
            found[job_id] = Standing(mark, queue)
        known = unit.decoded("find_states", states_found, values)
        existing |= {part[position] for position, *_ in known}
    changed, acts = _change(unit, batch, found, actor)
    members = operations.outcomes(batch, found, existing, changed)
    return Acts(members, acts.topics, acts.references)


def _change(
    unit: Unit, batch: Batch, found: Mapping[bytes, Standing], actor: str
) -> tuple[set[bytes], Acts]:
    """Carry a batch out on what stands as it is marked."""
    live, dead = operations.unmoved(batch, found)
    detail = operations.of_operation(batch)
    if batch.action == "cancel":
        acted = cancel_jobs(unit, live, batch.reason, force=batch.force)
        told = detail | {"reason": batch.reason, "force": batch.force}
        audit(unit, actor, "job.cancel", under([each.line for each in acted], told))
        changed = {each.result.job_id for each in acted if each.line is not None}
        return changed, Acts([], operations.cancel_topics([each.result for each in acted]))
    if batch.action == "purge":
        purged = purge_jobs(unit, dead)
        lines = under([each.line for each in purged.values()], detail)
        audit(unit, actor, "job.purge", lines)
        references = tuple(each for several in purged.values() for each in several.references)
        return set(purged), Acts([], references=references)
    moved = run_jobs_now(unit, live)
    audit(unit, actor, "job.run_now", under(moved.values(), detail))
    revived = replay_jobs(unit, dead, batch.payload)
    audit(unit, actor, "job.replay", under(revived.values(), detail))
    changed = set(moved) | set(revived)
    return changed, Acts([], operations.queue_topics(found[job_id] for job_id in changed))
