"""Query plans of the hot statements, pinned on 50,000 rows with statistics of an empty table.

Twice: the generic plan that the pinned connections use, and what a run really touched.
"""

import json
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from typing import Any, Protocol

import asyncpg
import pytest

from mainspring.store.postgres import PostgresStore
from mainspring.store.postgres.pool import Connection, bind, load
from mainspring.store.statements import Statement
from mainspring.testing.builders import new_session

pytestmark = pytest.mark.postgres


class Connect(Protocol):
    async def __call__(self, dsn: str | None = None) -> "asyncpg.Connection[asyncpg.Record]": ...


_JOBS = 50_000
_NOW = datetime(2027, 3, 14, 9, 26, 53, tzinfo=UTC)
_LATER = _NOW + timedelta(hours=1)
#: Nobody may read the table from end to end for these.
_SLOW = {"Seq Scan", "Hash Join", "Merge Join", "Sort", "Incremental Sort", "Bitmap Heap Scan"}

Plan = dict[str, Any]


@pytest.fixture
async def filled(store: PostgresStore, dsn: str, connect: Connect) -> PostgresStore:
    """50,000 jobs in five queues and all priorities, a third of them held by one worker."""
    worker = new_session(id=b"w" * 16)
    await store.open_session(worker)
    connection = await connect()
    # What the planner knows is out of date, as it is when a queue fills within seconds.
    await connection.execute("ALTER TABLE mainspring.jobs SET (autovacuum_enabled = off)")
    await connection.execute("ANALYZE mainspring.jobs")
    await connection.execute(
        "INSERT INTO mainspring.jobs (id, created_at, due_at, timeout_ms, priority, max_attempts, "
        "max_crashes, state, tenant, queue, kind, payload, worker_id, attempt, deadline_at) "
        "SELECT lpad(to_hex(n), 32, '0')::uuid, $1::timestamptz, "
        "$1::timestamptz - interval '1 hour' + n * interval '1 ms', "
        "1000, n / 5 % 4, 5, 3, CASE WHEN n % 3 = 0 THEN 'running' ELSE 'ready' END, 'default', "
        "'q' || n % 5, 'k', '{}', CASE WHEN n % 3 = 0 THEN $2::uuid END, 1, $1::timestamptz "
        "FROM generate_series(1, $3::integer) AS n",
        _NOW,
        worker.id.hex(),
        _JOBS,
    )
    await connection.execute("UPDATE mainspring.workers SET lease_until = 'infinity'")
    return store


def _nodes(plan: Plan) -> Iterator[Plan]:
    yield plan
    for child in plan.get("Plans", ()):
        yield from _nodes(child)


def _on_jobs(plan: Plan) -> list[Plan]:
    """Return the nodes that read the live table."""
    return [
        node
        for node in _nodes(plan)
        if node.get("Relation Name") == "jobs" and "Scan" in node["Node Type"]
    ]


async def _generic(store: PostgresStore, statement: Statement) -> Plan:
    """Return the plan that is made once and used for all values."""

    async def work(connection: Connection) -> Plan:
        await connection.execute(f"PREPARE pinned AS {statement.text}")
        nothing = ", ".join("NULL" for _ in statement.params)
        text = await connection.fetchval(f"EXPLAIN (FORMAT JSON) EXECUTE pinned({nothing})")
        await connection.execute("DEALLOCATE pinned")
        plan: Plan = json.loads(text)[0]["Plan"]
        return plan

    return await store._pools.dispatch.transaction(work)


class _Undo(Exception):
    pass


async def _touched(store: PostgresStore, statement: Statement, **values: object) -> Plan:
    """Run a statement, undo it, and return its plan with what it really did."""
    seen: list[Plan] = []

    async def work(connection: Connection) -> None:
        text = await connection.fetchval(
            f"EXPLAIN (ANALYZE, TIMING OFF, BUFFERS, FORMAT JSON) {statement.text}",
            *bind(statement, values),
        )
        seen.append(json.loads(text)[0]["Plan"])
        raise _Undo

    with pytest.raises(_Undo):
        await store._pools.dispatch.transaction(work)
    return seen[0]


def _ask(**changes: object) -> dict[str, object]:
    nothing = [None] * 3
    return {
        "at": _LATER,
        "queues": ["q0", "q1", "q2"],
        "wants": [50, 50, 50],
        "since_critical": nothing,
        "since_high": nothing,
        "since_normal": nothing,
        "since_low": nothing,
        "kinds": ["k"],
        "worker_id": b"w" * 16,
        "child": 0,
        "job_limit": 50,
        "grace_ms": 0,
        "tenant": None,
        **changes,
    }


def _rows_read(plan: Plan, index: str) -> float:
    read: float = sum(
        (node["Actual Rows"] + node.get("Rows Removed by Filter", 0)) * node["Actual Loops"]
        for node in _nodes(plan)
        if node.get("Index Name") == index and node["Actual Loops"]
    )
    return read


def _buffers(plan: Plan) -> int:
    hit: int = plan["Shared Hit Blocks"] + plan["Shared Read Blocks"]
    return hit


async def test_claim_goes_by_its_index_and_then_by_primary_key(filled: PostgresStore) -> None:
    plan = await _generic(filled, load("claim"))
    by_index, by_key = sorted(_on_jobs(plan), key=lambda node: str(node["Index Name"]))
    assert (by_index["Index Name"], by_key["Index Name"]) == ("jobs_claim", "jobs_pkey")
    for column in ("queue", "priority", "due_at"):
        assert column in by_index["Index Cond"]
    # Both ends of the range, so that a watermark skips the dead entries before it.
    assert by_index["Index Cond"].count("due_at") == 2
    assert not _SLOW & {node["Node Type"] for node in _nodes(plan)}


async def test_a_claim_reads_what_it_hands_out(filled: PostgresStore) -> None:
    plan = await _touched(filled, load("claim"), **_ask())
    assert plan["Actual Rows"] == 50
    assert _rows_read(plan, "jobs_claim") == 50
    assert _buffers(plan) < 50 * 30


async def test_a_claim_over_several_queues_and_priorities(filled: PostgresStore) -> None:
    # q0 has too few at the highest priority, so the lane goes on to the next one.
    plan = await _touched(filled, load("claim"), **_ask(wants=[2_000, 10, 10], job_limit=2_015))
    assert plan["Actual Rows"] == 2_015
    # PostgreSQL 15 tells rounded rows a loop; there is one for each queue and priority.
    assert _rows_read(plan, "jobs_claim") == pytest.approx(2_015, abs=12)


async def test_a_watermark_skips_what_lies_before_it(
    filled: PostgresStore, dsn: str, connect: Connect
) -> None:
    connection = await connect()
    watermark = await connection.fetchval(
        "SELECT due_at FROM mainspring.jobs WHERE queue = 'q0' AND priority = 0 "
        "AND state = 'ready' ORDER BY due_at OFFSET 1500 LIMIT 1"
    )
    # Another's open transaction keeps the dead entries at the head of the index.
    other = await connect()
    await other.execute("BEGIN ISOLATION LEVEL REPEATABLE READ")
    await other.fetch("SELECT FROM mainspring.jobs LIMIT 1")
    await connection.execute(
        "DELETE FROM mainspring.jobs WHERE queue = 'q0' AND priority = 0 AND due_at < $1",
        watermark,
    )
    one = {"queues": ["q0"], "wants": [50]}
    nothing = {name: [None] for name in ("since_high", "since_normal", "since_low")}
    without = await _touched(filled, load("claim"), **_ask(**one, **nothing, since_critical=[None]))
    behind = await _touched(
        filled, load("claim"), **_ask(**one, **nothing, since_critical=[watermark])
    )
    assert behind["Actual Rows"] == without["Actual Rows"] == 50
    assert _buffers(behind) < _buffers(without) - 500
    await other.execute("ROLLBACK")


async def test_a_paused_queue_is_not_looked_into(filled: PostgresStore) -> None:
    await filled.pause_queue("q0", reason="", actor="me")
    alone: dict[str, object] = {"queues": ["q0"], "wants": [50]}
    nothing = {
        name: [None] for name in ("since_critical", "since_high", "since_normal", "since_low")
    }
    plan = await _touched(filled, load("claim"), **_ask(**alone, **nothing))
    assert plan["Actual Rows"] == 0
    assert _rows_read(plan, "jobs_claim") == 0
    assert _buffers(plan) < 50
    # Beside others it costs them nothing.
    plan = await _touched(filled, load("claim"), **_ask())
    assert plan["Actual Rows"] == _rows_read(plan, "jobs_claim") == 50


async def test_a_lost_session_reads_nothing(filled: PostgresStore) -> None:
    plan = await _touched(filled, load("claim"), **_ask(worker_id=b"x" * 16))
    assert _rows_read(plan, "jobs_claim") == 0


@pytest.mark.parametrize("name", ["settle_succeeded", "settle_final", "settle_again", "pulse"])
async def test_settlements_go_by_primary_key_only(filled: PostgresStore, name: str) -> None:
    plan = await _generic(filled, load(name))
    found = _on_jobs(plan)
    assert found
    assert {node.get("Index Name") for node in found} == {"jobs_pkey"}
    assert not _SLOW & {node["Node Type"] for node in _nodes(plan)}


async def test_a_settlement_reads_what_it_settles(filled: PostgresStore) -> None:
    ids = [number.to_bytes(16, "big") for number in range(3, 1_503, 3)]
    plan = await _touched(
        filled,
        load("settle_succeeded"),
        at=_NOW,
        ids=ids,
        attempts=[1] * len(ids),
        results=[],
        result_refs=[],
    )
    assert plan["Actual Rows"] == len(ids)
    assert _rows_read(plan, "jobs_pkey") == len(ids)


@pytest.mark.parametrize("name", ["held_by", "expired"])
async def test_held_attempts_are_found_by_their_worker(filled: PostgresStore, name: str) -> None:
    plan = await _generic(filled, load(name))
    assert {node.get("Index Name") for node in _on_jobs(plan)} <= {"jobs_held", "jobs_pkey"}


async def test_expired_stops_at_its_limit(filled: PostgresStore) -> None:
    plan = await _touched(filled, load("expired"), at=_NOW + timedelta(seconds=1), job_limit=20)
    assert plan["Actual Rows"] == 20
    assert _rows_read(plan, "jobs_held") == 20
    # Nobody is late: one look for each session.
    plan = await _touched(filled, load("expired"), at=_NOW, job_limit=20)
    assert plan["Actual Rows"] == 0
    assert _rows_read(plan, "jobs_held") == 0


async def test_the_next_due_instant_is_at_the_heads(filled: PostgresStore) -> None:
    asked: dict[str, Any] = {"at": _NOW, "queues": ["q0", "q1"], "kinds": ["k"], "tenant": None}
    plan = await _touched(filled, load("next_due"), **asked)
    assert _rows_read(plan, "jobs_claim") == 8


@pytest.mark.parametrize("name", ["submit", "get_job", "get_states"])
async def test_the_other_hot_ones_never_scan_the_table(filled: PostgresStore, name: str) -> None:
    plan = await _generic(filled, load(name))
    assert all("Seq Scan" not in node["Node Type"] for node in _on_jobs(plan))


@pytest.mark.parametrize("name", ["find_holders", "replace_waiting"])
async def test_unique_keys_are_looked_up_by_their_index(filled: PostgresStore, name: str) -> None:
    plan = await _generic(filled, load(name))
    used = {node["Index Name"] for node in _nodes(plan) if "Index Name" in node}
    of_jobs = {index for index in used if index.startswith("jobs_") and "history" not in index}
    assert of_jobs == ({"jobs_unique", "jobs_pkey"} if name == "find_holders" else {"jobs_pkey"})
    assert all("Seq Scan" not in node["Node Type"] for node in _on_jobs(plan))


async def test_jobs_without_a_unique_key_are_not_in_its_index(
    filled: PostgresStore, connect: Connect
) -> None:
    connection = await connect()
    pages = await connection.fetchval("SELECT pg_relation_size('mainspring.jobs_unique') / 8192")
    assert pages == 1


async def test_what_happened_is_found_by_indexes(filled: PostgresStore) -> None:
    found = list(_nodes(await _generic(filled, load("list_changes"))))
    assert all("Seq Scan" not in node["Node Type"] for node in found)
    bounds = {
        node["Index Name"]: node.get("Index Cond", "") for node in found if "Index Name" in node
    }
    assert {"jobs_held", "jobs_pkey"} <= bounds.keys()
    assert "ended_at >=" in bounds["attempts_default_pkey"]
