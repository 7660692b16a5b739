"""Each of the doctor's checks, against facts in which its thing is broken."""

from datetime import UTC, datetime, timedelta
from typing import Any

import msgspec
import pytest

from mainspring import __version__
from mainspring.cli.checkup import Facts, StoreFacts, judge
from mainspring.cli.schedule_checkup import SCHEDULE_CHECKS, ScheduleFacts
from mainspring.domain.errors import ConnectionFailed
from mainspring.domain.job import QueueView, WorkerView
from mainspring.ports.store import Diagnosis, SchemaStatus

NOW = datetime(2027, 1, 1, 12, tzinfo=UTC)
WORKER = WorkerView(
    id=b"\2" * 16,
    name="w-1",
    host="here",
    pid=1,
    version=__version__,
    queues={"mail": 2},
    kinds=("charge",),
    state="alive",
    started_at=NOW,
    beat_at=NOW,
    lease_until=NOW + timedelta(seconds=10),
    running=1,
)
QUEUE = QueueView("mail", None, None, 3, 0, 0, 0, NOW)
STORE = StoreFacts(
    schema=SchemaStatus(applied=("0001_pre_a",), pending=(), unknown=(), too_new=False),
    diagnosis=Diagnosis(
        product="PostgreSQL 18.6", wal_bytes=0, connections=3, connections_max=100, is_walled=True
    ),
    latency_ms=1.0,
    skew=timedelta(0),
    now=NOW,
    queues=[QUEUE],
    workers=[WORKER],
    waiting_kinds=frozenset({"charge"}),
    schedules=ScheduleFacts(now=NOW, zones=202_606),
)
HEALTHY = Facts(
    address="postgresql://h/d",
    today=NOW,
    store=STORE,
    blobs="s3://b",
    disk_free_bytes=10**12,
    files_max=4_096,
    zones_version="2026.6",
)


def with_store(**changes: Any) -> Facts:
    return msgspec.structs.replace(HEALTHY, store=msgspec.structs.replace(STORE, **changes))


def with_diagnosis(**changes: Any) -> Facts:
    return with_store(diagnosis=msgspec.structs.replace(STORE.diagnosis, **changes))


def with_worker(**changes: Any) -> Facts:
    return with_store(workers=[msgspec.structs.replace(WORKER, **changes)])


def with_machine(**changes: Any) -> Facts:
    return msgspec.structs.replace(HEALTHY, **changes)


def test_where_nothing_is_broken_nothing_is_found() -> None:
    assert {found.status for found in judge(HEALTHY)} == {"ok"}


BROKEN = [
    ("store", "warn", with_store(latency_ms=80.0), "80 ms", "closer"),
    (
        "migrations",
        "fail",
        with_store(
            schema=SchemaStatus(applied=(), pending=("0001_pre_a",), unknown=(), too_new=False)
        ),
        "1 step pending",
        "mainspring db migrate",
    ),
    (
        "migrations",
        "fail",
        with_store(schema=SchemaStatus(applied=(), pending=(), unknown=("9_x",), too_new=True)),
        "9_x",
        "install that version",
    ),
    ("clock", "warn", with_store(skew=timedelta(seconds=-3)), "3 s behind", "NTP"),
    ("queues", "warn", with_store(workers=[]), "mail: 3 jobs wait", "--queues mail"),
    (
        "queues",
        "warn",
        with_store(queues=[msgspec.structs.replace(QUEUE, paused_at=NOW, paused_reason="move")]),
        "(move)",
        "queues resume mail",
    ),
    ("handlers", "warn", with_worker(kinds=("else",)), "kind charge", "start a worker"),
    (
        "leases",
        "warn",
        with_worker(lease_until=NOW - timedelta(seconds=30)),
        "w-1 ran out 30s ago, and nobody has taken its 1 job back",
        "worker start",
    ),
    ("versions", "warn", with_worker(version="9.9"), "9.9", "roll-out"),
    ("wal", "warn", with_diagnosis(wal_bytes=10**9), "954 MiB", "reader"),
    (
        "snapshots",
        "warn",
        with_diagnosis(oldest_snapshot_seconds=3_600.0, oldest_snapshot_by="process 7"),
        "process 7 has held a snapshot for 1 h",
        "end it",
    ),
    ("connections", "warn", with_diagnosis(connections=95), "95 of 100", "max_connections"),
    ("tenants", "warn", with_diagnosis(is_walled=False), "mainspring_tenant", "CREATE ROLE"),
    ("objects", "fail", with_machine(blobs_error="no such bucket"), "no such bucket", "rights"),
    ("disk", "warn", with_machine(disk_free_bytes=10**8), "0.1 GiB", "make room"),
    ("files", "warn", with_machine(files_max=256), "256 files", "ulimit"),
    ("zones", "warn", with_machine(zones_version="2024.1"), "2024.1 is old", "upgrade tzdata"),
    (
        "zones",
        "fail",
        with_machine(zones_version=None, zones_error="none"),
        "no time-zone data",
        "install tzdata",
    ),
]


@pytest.mark.parametrize(
    ("check", "status", "facts", "said", "hint"),
    BROKEN,
    ids=[f"{row[0]}-{number}" for number, row in enumerate(BROKEN)],
)
def test_what_is_broken_is_found(
    check: str, status: str, facts: Facts, said: str, hint: str
) -> None:
    found = {item.check: item for item in judge(facts)}
    assert found[check].status == status
    assert said in found[check].what
    assert hint in found[check].next


def test_every_check_can_find_something() -> None:
    checks = {found.check for found in judge(HEALTHY)}
    assert {row[0] for row in BROKEN} == checks - SCHEDULE_CHECKS.keys()
    assert checks > SCHEDULE_CHECKS.keys()


def test_without_a_store_its_checks_are_left_out() -> None:
    error = ConnectionFailed("cannot reach h:5432")
    found = judge(msgspec.structs.replace(HEALTHY, store=None, store_error=error))
    by_name = {item.check: item for item in found}
    assert by_name["store"].status == "fail"
    assert "cannot reach h:5432" in by_name["store"].what
    assert by_name["queues"].status == "skip"
    assert by_name["disk"].status == "ok"
    assert len(found) == len(judge(HEALTHY))
