"""Attempts begin and go on: ``DispatchStore`` without ``settle``."""

from collections.abc import Collection, Mapping, Sequence
from typing import Final, NamedTuple

import msgspec

from mainspring.domain.job import Claimed, Held
from mainspring.domain.outcome import LogLine, Progress
from mainspring.domain.states import JobState
from mainspring.ports.store import ClaimAsk, Lane, Pulse
from mainspring.store.sqlite.instants import from_us, to_us
from mainspring.store.sqlite.packing import as_json, pack
from mainspring.store.sqlite.part import Part
from mainspring.store.sqlite.records import held_rows, picked_rows
from mainspring.store.sqlite.unit import Unit, ask
from mainspring.store.statements import Steps

_PRIORITIES: Final = 4
#: Before every instant that can be kept: no watermark.
_ALWAYS_US: Final = -(2**62)
_names: Final = msgspec.json.Decoder(frozenset[str])
_found: Final = msgspec.json.Decoder(list[tuple[int, JobState, bool]])


class Dispatch(Part):
    """Attempts begin and go on."""

    async def claim(self, ask: ClaimAsk) -> list[Claimed]:
        if ask.limit <= 0 or not ask.kinds or not ask.lanes:
            return []
        return await self._engine.write(lambda unit: _claim(unit, ask))

    async def next_due_ms(
        self, queues: Collection[str], kinds: Collection[str], tenant: str | None = None
    ) -> int | None:
        values = {
            "queues": as_json(list(queues)), "kinds": as_json(list(kinds)), "tenant": tenant
        }  # fmt: skip

        def work(unit: Unit) -> int | None:
            (due_us,) = unit.row("find_next_due", values) or (None,)
            # Rounded up: whoever rests so long finds it due.
            return None if due_us is None else max(0, -(-(due_us - unit.now_us) // 1_000))

        return await self._engine.read(work)

    async def pulse(
        self, worker_id: bytes, held: Sequence[tuple[bytes, int]], progress: Sequence[Progress]
    ) -> Pulse:
        # The fence is (job, attempt); who asks does not matter to the answer.
        del worker_id
        if not held and not progress:
            return Pulse((), ())
        if not progress:
            return await self._engine.read(lambda unit: _pulse(unit, held))

        def work(unit: Unit) -> Pulse:
            _store_progress(unit, progress)
            return _pulse(unit, held)

        return await self._engine.write(work)

    async def append_logs(self, lines: Sequence[LogLine]) -> int:
        if not lines:
            return 0
        return await self._engine.write(lambda unit: _append_logs(unit, lines))

    async def expired(self, limit: int) -> list[Held]:
        return await self._engine.write(lambda unit: _expired(unit, limit))

    async def held_by(self, worker_id: bytes, child: int | None = None) -> list[Held]:
        def work(unit: Unit) -> list[Held]:
            values = {
                "worker_id": worker_id, "child": child, "now": unit.now_us, "job_limit": -1
            }  # fmt: skip
            found = unit.decoded("list_held", held_rows, values)
            return [row.held("overtime" if row.is_overtime else "child") for row in found]

        return await self._engine.read(work)


class HeldNow(NamedTuple):
    """A job that is held right now."""

    state: JobState
    #: It is the job of a fire.
    is_fired: bool


def find_held(attempts: Sequence[tuple[bytes, int]]) -> Steps[dict[int, HeldNow]]:
    """Return those attempts that are held right now, by position: the fence."""
    rows = yield ask("find_held", attempt_values(attempts))
    return {position: HeldNow(state, fired) for position, state, fired in _found.decode(rows[0][0])}


def attempt_values(attempts: Sequence[tuple[bytes, int]]) -> Mapping[str, object]:
    """Return attempts as statements take them."""
    return {
        "ids": pack(job_id for job_id, _ in attempts),
        "attempts": as_json([attempt for _, attempt in attempts]),
    }


def _claim(unit: Unit, ask: ClaimAsk) -> list[Claimed]:
    session = {"worker_id": ask.worker_id, "now": unit.now_us}
    if unit.row("find_claimer", {**session, "tenant": ask.tenant}) is None:
        return []
    paused = unit.decoded("list_paused", _names)
    lanes = [lane for lane in ask.lanes if lane.queue not in paused]
    claimed = _pick(unit, ask, lanes)
    if claimed:
        unit.change_ids(
            "start_jobs",
            [job.job_id for job in claimed],
            **session,
            child=ask.child,
            grace_ms=ask.grace_ms,
        )
    return claimed


def _pick(unit: Unit, ask: ClaimAsk, lanes: Sequence[Lane]) -> list[Claimed]:
    """Pick priority by priority, so that the limit of all lanes cuts off the least urgent."""
    kinds = as_json(ask.kinds)
    started_at = from_us(unit.now_us)
    wants = [lane.want for lane in lanes]
    left = ask.limit
    claimed: list[Claimed] = []
    for priority in range(_PRIORITIES):
        for number, lane in enumerate(lanes):
            want = min(wants[number], left)
            if want <= 0:
                continue
            since = lane.since.get(priority)
            values = {
                "queue": lane.queue,
                "priority": priority,
                "since": _ALWAYS_US if since is None else to_us(since),
                "now": unit.now_us,
                "kinds": kinds,
                "want": want,
                "tenant": ask.tenant,
            }
            rows = unit.decoded("pick_jobs", picked_rows, values)
            wants[number] -= len(rows)
            left -= len(rows)
            claimed += [row.claimed(lane.queue, priority, started_at, ask.grace_ms) for row in rows]
    return claimed


def _pulse(unit: Unit, held: Sequence[tuple[bytes, int]]) -> Pulse:
    found = unit.follow(find_held(held)) if held else {}
    return Pulse(
        cancelling=tuple(
            held[position][0] for position, now in found.items() if now.state is JobState.CANCELLING
        ),
        lost=tuple(job_id for position, (job_id, _) in enumerate(held) if position not in found),
    )


def _store_progress(unit: Unit, progress: Sequence[Progress]) -> None:
    # One by one: numbers with a fraction would lose digits on their way through JSON.
    for told in progress:
        unit.change(
            "store_progress",
            {
                "id": told.job_id,
                "attempt": told.attempt,
                "done": told.done,
                "total": told.total,
                "note": told.note,
            },
        )


def _append_logs(unit: Unit, lines: Sequence[LogLine]) -> int:
    entries = [
        (line.attempt, line.sequence, to_us(line.at), line.level, line.message, line.fields)
        for line in lines
    ]
    return unit.change_entries("append_logs", [line.job_id for line in lines], entries)


def _expired(unit: Unit, limit: int) -> list[Held]:
    values = {"now": unit.now_us, "job_limit": limit}
    unit.change("expire_sessions", {"now": unit.now_us})
    orphans = unit.decoded("list_orphans", held_rows, {"job_limit": limit})
    found = {row.id: row.held("session") for row in orphans}
    # Asked for the limit as well: some of these may be orphans that were found already.
    for row in unit.decoded("list_overdue", held_rows, values):
        found.setdefault(row.id, row.held("deadline"))
    return list(found.values())[:limit]
