"""Messages that no program would send: each is refused or answered, and the server goes on."""

import logging
import os
import random
from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import Any

import grpc
import pytest
from google.protobuf.descriptor import FieldDescriptor
from google.protobuf.message import Message

from mainspring.domain.ids import show_job
from mainspring.domain.job import HandlerInfo
from mainspring.integrations.local_blobs import LocalBlobs
from mainspring.ports.entropy import random_seed
from mainspring.ports.store import Store
from mainspring.store.postgres import open_postgres
from mainspring.store.sqlite import open_sqlite
from mainspring.testing.builders import KIND, claim_ask, new_job, new_session
from mainspring.wire.protobuf import worker_pb2
from mainspring.wire.protobuf.scalars import show_worker
from tests.conftest import MakeDatabase
from tests.gateways.calling import METHODS, WORKER, Line
from tests.gateways.loopback import serving

pytestmark = pytest.mark.timeout(180)

ROUNDS = int(os.environ.get("FUZZ_ROUNDS", "25"))
#: What a call may end with, whatever was sent.
_FINE = {
    grpc.StatusCode.INVALID_ARGUMENT,
    grpc.StatusCode.NOT_FOUND,
    grpc.StatusCode.ABORTED,
    grpc.StatusCode.FAILED_PRECONDITION,
    grpc.StatusCode.RESOURCE_EXHAUSTED,
}
#: These wait when all is well: by the caller's own deadline.
_PATIENT = {WORKER + "WaitForWork", WORKER + "StreamAttempts"}
_NUMBERS = (0, 1, 2, 7, 1_000, 32_767, 32_768, 2**31 - 1, 2**31, 2**53, 2**63 - 1, -1, -(2**31))
_TEXTS = (
    *(
        "",
        " ",
        "\0",
        "a\0b",
        "default",
        "mail",
        KIND,
        "x" * 300,
        "\U0001f600",
        "a b",
        "../..",
        "%s",
    ),
    *(
        "{}",
        "[]",
        "{",
        "null",
        '{"a":1}',
        '{"a":"\\u0000"}',
        '{"a":1e999}',
        "[" * 9_999,
        "1" * 5_000,
    ),
    *("SUCCEEDED", "FAILED", "live", "waiting", "reject", "replace", "existing", "thread"),
    *("job_", "wrk_", "job_0", "wrk_0", "sch_0", "job_" + "0" * 26, "wrk_" + "Z" * 26),
)

Fuzz = Callable[[type[Message]], Message]


class Dice:
    """Makes messages with random values, of which some are real ids."""

    def __init__(self, seed: int, ids: list[str]) -> None:
        self._dice = random.Random(seed)
        self._texts = (*_TEXTS, *ids, *ids, *ids)
        attempts = [name for name in ids if ":" in name]
        #: What most messages say, so that they are not all refused for the same few fields.
        self._likely: dict[str, list[Any]] = {
            "worker_id": [name for name in ids if name.startswith("wrk_")],
            "attempt_id": attempts,
            "attempt_ids": attempts,
            "child": [0],
            "kind": [KIND],
            "kinds": [KIND],
            "queues": ["default"],
            "key": ["default", "mail"],
            "lease_ms": [0, 5_000],
            "grace_ms": [0, 5_000],
            "limit": [0, 1, 5],
            "tenant": ["default", "acme"],
            "queue": ["default"],
            "seconds": [0, 1_800_000_000],
        }

    def bytes_of(self, takes: type[Message]) -> bytes:
        """Bytes that are no message, or a damaged one."""
        if self._dice.random() < 0.5:
            return self._dice.randbytes(self._dice.randrange(200))
        raw = bytearray(self.message(takes).SerializeToString())
        for _ in range(min(len(raw), 3)):
            raw[self._dice.randrange(len(raw))] = self._dice.randrange(256)
        return bytes(raw[: self._dice.randrange(len(raw) + 1)])

    def message(self, takes: type[Message], depth: int = 0) -> Message:
        """Make one; every field is set or left out by chance."""
        made = takes()
        for field in takes.DESCRIPTOR.fields:
            if self._dice.random() < 0.75 and depth < 5:
                self._set(made, field, depth)
        return made

    def _set(self, made: Message, field: Any, depth: int) -> None:
        value: Any = getattr(made, field.name)
        entry = field.message_type
        if entry is not None and entry.GetOptions().map_entry:
            for _ in range(self._dice.randrange(4)):
                value[self._scalar(entry.fields_by_name["key"])] = self._scalar(
                    entry.fields_by_name["value"]
                )
        elif entry is not None and field.is_repeated:
            for _ in range(self._dice.randrange(4)):
                item = value.add()
                item.CopyFrom(self.message(type(item), depth + 1))
        elif entry is not None:
            value.CopyFrom(self.message(type(value), depth + 1))
            value.SetInParent()
        elif field.is_repeated:
            value.extend(self._scalar(field) for _ in range(self._dice.randrange(4)))
        else:
            setattr(made, field.name, self._scalar(field))

    def _scalar(self, field: Any) -> Any:
        dice = self._dice
        if field.name in self._likely and dice.random() < 0.7:
            return dice.choice(self._likely[field.name])
        if field.type == FieldDescriptor.TYPE_BYTES:
            return dice.randbytes(dice.randrange(50))
        values: dict[int, tuple[Any, ...]] = {
            FieldDescriptor.CPPTYPE_STRING: self._texts,
            FieldDescriptor.CPPTYPE_BOOL: (True, False),
            FieldDescriptor.CPPTYPE_DOUBLE: (0.0, -1.0, 1e308, float("nan"), float("inf"), 1.5),
            FieldDescriptor.CPPTYPE_ENUM: (0, 1, 2, 3, 4, 77, -1),
            FieldDescriptor.CPPTYPE_INT32: tuple(n for n in _NUMBERS if -(2**31) <= n < 2**31),
            FieldDescriptor.CPPTYPE_INT64: _NUMBERS,
        }
        return dice.choice(values[field.cpp_type])


@pytest.fixture(params=["sqlite", pytest.param("postgres", marks=pytest.mark.postgres)])
def address(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    if request.param == "sqlite":
        return f"sqlite:{tmp_path / 'fuzz.db'}"
    migrated: MakeDatabase = request.getfixturevalue("migrated_database")
    return migrated()


@pytest.fixture
async def store(address: str) -> AsyncIterator[Store]:
    if address.startswith("sqlite:"):
        opened: Store = await open_sqlite(address.removeprefix("sqlite:"))
        await opened.migrate(phase="all")
    else:
        opened = await open_postgres(address)
    await opened.declare_handlers([HandlerInfo(kind=KIND)])
    yield opened
    await opened.close()


async def things(store: Store) -> list[str]:
    """The ids of a worker, of its running attempts, and of jobs that wait."""
    worker = new_session()
    await store.open_session(worker)
    jobs = [new_job() for _ in range(5)]
    await store.submit(jobs)
    claimed = await store.claim(claim_ask(worker.id, limit=3))
    running = [f"{show_job(job.job_id)}:{job.attempt}" for job in claimed]
    names = [show_job(job.id) for job in jobs]
    return [show_worker(worker.id), *names, *running, f"{names[0]}:2"]


async def test_no_message_brings_the_server_into_trouble(
    store: Store, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    seed = random_seed()
    print(f"seed {seed}")
    async with serving(store, LocalBlobs(str(tmp_path / "blobs"))) as door:
        line = Line(f"127.0.0.1:{door.port}")
        answered = 0
        dice = Dice(seed, await things(store))
        for number in range(ROUNDS):
            if number % 3 == 0:
                # Sooner or later somebody closes the session: then nearly all would be refused.
                dice = Dice(seed + number, await things(store))
            for path, (takes, many, _) in METHODS.items():
                make = dice.bytes_of if number % 3 == 2 else dice.message
                sent = [make(takes) for _ in range(2 if many else 1)]
                is_patient = path in _PATIENT
                found = await line.refused(path, *sent, seconds=0.2 if is_patient else 20.0)
                answered += found is None
                if found is not None:
                    fine = _FINE | ({grpc.StatusCode.DEADLINE_EXCEEDED} if is_patient else set())
                    told = f"seed {seed}: {path} {found.status} {found.details} {sent!r:.2000}"
                    assert found.status in fine, told
        beat = worker_pb2.BeatRequest(worker_id=show_worker(new_session().id))
        alive = await line.refused(WORKER + "Beat", beat)
        assert alive is not None
        assert alive.code == "session_lost"
        await line.close()
    assert answered >= ROUNDS, "nearly all were refused: the run shows little"
    assert not [item for item in caplog.records if item.levelno >= logging.ERROR]
