"""One chaos run: submit, disturb, heal, wait for the end, gather the records for the checker."""

import asyncio
import json
import os
import random
import sqlite3
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, closing
from pathlib import Path

import msgspec
import pytest

from mainspring.domain.errors import MainspringError, OutcomeUnknown
from mainspring.domain.ids import show_job
from mainspring.domain.states import FINAL, AttemptState, JobState
from mainspring.ports.clock import monotonic, pause_seconds
from mainspring.ports.entropy import new_job_id, random_seed
from mainspring.ports.gateway import ClientGateway, Submission
from mainspring.runtime.assemble import open_client_gateway, open_store
from mainspring.runtime.setting_table import Settings
from mainspring.testing.history import Effect, Finding, History, Recorded, check
from tests.chaos.fires import fires_proven, pause_all, schedule_densely
from tests.chaos.fleet import Fleet

#: Far beyond what a healthy run needs; only a run that hangs gets there.
PATIENCE_SECONDS = 120.0


def seed_of_this_run() -> int:
    """Return the seed: from the environment to repeat a run, else a new one, printed on failure."""
    return int(os.environ.get("CHAOS_SEED") or random_seed())


async def migrate(store_url: str) -> None:
    """Make the store ready."""
    store = await open_store(Settings(store_url=store_url))
    try:
        await store.migrate(phase="all")
        await store.prepare_partitions(2)
    finally:
        await store.close()


class Ledger:
    """What the submitting side knows: acknowledged, or sent without an answer."""

    def __init__(self, desk: ClientGateway, seed: int) -> None:
        self.desk = desk
        self.dice = random.Random(seed)
        self.acknowledged: set[bytes] = set()
        self.unknown: set[bytes] = set()
        self.long_jobs: set[str] = set()
        self.lost_seen: set[tuple[str, int]] = set()
        self.zombies_seen: set[tuple[str, int]] = set()
        self.schedules: list[bytes] = []
        self._number = 0

    async def submit(self, count: int, *, kinds: tuple[str, ...] = ("work",)) -> None:
        """Submit a batch of jobs with random working times."""
        wanted = [self._next(kinds) for _ in range(count)]
        try:
            accepted = await self.desk.submit(wanted)
        except OutcomeUnknown:
            self.unknown.update(item.id for item in wanted if item.id is not None)
            return
        self.acknowledged.update(item.job_id for item in accepted)

    async def keep_submitting(self, over: asyncio.Event, *, kinds: tuple[str, ...]) -> None:
        """Keep a backlog of some hundred jobs until it is over."""
        while not over.is_set():
            counts = await self.desk.count_states()
            waiting = counts.get(JobState.READY, 0) + counts.get(JobState.RETRYING, 0)
            if waiting < 200:
                await self.submit(100, kinds=kinds)
            await pause_seconds(0.02)

    async def submit_stubbornly(self, count: int) -> None:
        """Submit, and again with the same ids, until the store has answered."""
        wanted = [self._next(("work",)) for _ in range(count)]
        until = monotonic() + PATIENCE_SECONDS
        while monotonic() < until:
            try:
                accepted = await self.desk.submit(wanted)
            except MainspringError as error:
                if error.exit_code != OutcomeUnknown.exit_code:
                    raise
                await pause_seconds(0.05)
                continue
            self.acknowledged.update(item.job_id for item in accepted)
            return
        pytest.fail("the store never answered again")

    async def begin_firing(self, store_url: str) -> None:
        """Let schedules run along: their jobs are work like any other."""
        store = await open_store(Settings(store_url=store_url))
        try:
            payload = b'{"number": 1, "work_ms": 20}'
            self.schedules = await schedule_densely(store, kind="work", payload=payload)
        finally:
            await store.close()

    async def end_firing(self, store_url: str) -> None:
        """Fire no more, take the jobs of fires for accepted ones, and prove every ledger."""
        store = await open_store(Settings(store_url=store_url))
        try:
            self.acknowledged |= await pause_all(store, self.schedules)
        finally:
            await store.close()
        assert await fires_proven(store_url, self.schedules) > len(self.schedules)

    async def submit_one(self, kind: str) -> bytes:
        """Submit a job without arguments."""
        accepted = await self.desk.submit([Submission(kind=kind, kind_is_known=False)])
        self.acknowledged.add(accepted[0].job_id)
        return accepted[0].job_id

    async def until_declared(self, kind: str) -> None:
        """Wait until a worker has said that it can run this kind."""
        until = monotonic() + PATIENCE_SECONDS
        while monotonic() < until:
            if any(handler.kind == kind for handler in await self.desk.list_handlers()):
                return
            await pause_seconds(0.05)
        pytest.fail(f"no worker declared {kind}")

    async def until_workers(self, count: int) -> None:
        """Wait until so many workers have a session."""
        until = monotonic() + PATIENCE_SECONDS
        while monotonic() < until:
            if len(await self.desk.list_workers()) >= count:
                return
            await pause_seconds(0.05)
        pytest.fail(f"fewer than {count} workers came up")

    async def until_all_up(self, fleet: Fleet) -> None:
        """Wait until every worker that lives has a session: one that starts cannot drain yet."""
        until = monotonic() + PATIENCE_SECONDS
        while monotonic() < until:
            known = {worker.pid for worker in await self.desk.list_workers()}
            if known.issuperset(fleet.living()):
                return
            await pause_seconds(0.05)
        pytest.fail(f"not every worker came up\n{fleet.logs()}")

    async def submit_long(self, count: int, *, max_attempts: int = 200) -> None:
        """Submit jobs of which every other one works longer than a lease lasts."""
        wanted = []
        for number in range(count):
            work_ms = (1_500, 5_000)[number % 2]
            payload = b'{"number": 1, "work_ms": %d}' % work_ms
            job = msgspec.structs.replace(
                self._next(("work",)), payload=payload, max_attempts=max_attempts
            )
            wanted.append(job)
            if number % 2 and job.id is not None:
                self.long_jobs.add(show_job(job.id))
        accepted = await self.desk.submit(wanted)
        self.acknowledged.update(item.job_id for item in accepted)

    async def lost_attempts(self) -> set[tuple[str, int]]:
        """Return the attempts that have been closed as lost so far."""
        lost: set[tuple[str, int]] = set()
        for job_id in self.acknowledged:
            for attempt in await self.desk.list_attempts(job_id):
                if attempt.state is AttemptState.LOST:
                    lost.add((show_job(job_id), attempt.attempt))
        return lost

    def _next(self, kinds: tuple[str, ...]) -> Submission:
        self._number += 1
        payload = {"number": self._number, "work_ms": self.dice.choice((0, 1, 5, 20, 60))}
        retry: dict[str, int | float] = {"initial_ms": 10, "cap_ms": 100}
        return Submission(
            id=new_job_id(),
            kind=self.dice.choice(kinds),
            payload=json.dumps(payload).encode(),
            kind_is_known=True,
            max_attempts=200,
            max_crashes=100,
            timeout_ms=60_000,
            backoff=retry,
        )


@asynccontextmanager
async def open_ledger(store_url: str, seed: int) -> AsyncIterator[Ledger]:
    """Open the submitting side."""
    async with open_client_gateway(Settings(store_url=store_url)) as desk:
        yield Ledger(desk, seed)


async def begin_long_work(fleet: Fleet, ledger: Ledger, keeper: int) -> None:
    """Submit until a child of this keeper has just begun work that outlasts a lease."""
    seen = len(effects_of(fleet.effects))
    until = monotonic() + PATIENCE_SECONDS
    rounds = 0
    while monotonic() < until:
        if rounds % 50 == 0:
            await ledger.submit_long(8)
        rounds += 1
        children = set(fleet.children(keeper))
        for item in effects_of(fleet.effects)[seen:]:
            if item.event == "begin" and item.pid in children and item.job in ledger.long_jobs:
                return
        await pause_seconds(0.02)
    pytest.fail(f"worker {keeper} never began anything\n{fleet.logs()}")


async def until_ended(fleet: Fleet, more: int) -> None:
    """Wait until so many more attempts have ended: a random moment, in terms of work."""
    wanted = _endings(fleet) + more
    until = monotonic() + PATIENCE_SECONDS
    while _endings(fleet) < wanted:
        if monotonic() > until:
            pytest.fail(f"the work does not go on\n{fleet.logs()}")
        await pause_seconds(0.01)


def _endings(fleet: Fleet) -> int:
    return fleet.effects.read_bytes().count(b'"event": "end"')


async def freeze_between_writes(
    fleet: Fleet, store_url: str, keeper: int, *, children: bool
) -> None:
    """Freeze a worker, but not while it holds a SQLite file: that would freeze all the others.

    What nobody but the frozen process can undo is no takeover to be shown; ``docs/concepts/
    guarantees.md`` says so. On PostgreSQL the first try holds.
    """
    until = monotonic() + PATIENCE_SECONDS
    while monotonic() < until:
        fleet.freeze(keeper, children=children)
        if await asyncio.to_thread(_can_be_written, store_url):
            return
        fleet.thaw(keeper)
        await pause_seconds(0.01)
    pytest.fail(f"worker {keeper} never let go of the file\n{fleet.logs()}")


def _can_be_written(store_url: str) -> bool:
    if not store_url.startswith("sqlite:"):
        return True
    path = store_url.removeprefix("sqlite:///")
    with closing(sqlite3.connect(path, timeout=2, isolation_level=None)) as connection:
        try:
            connection.execute("BEGIN IMMEDIATE")
        except sqlite3.OperationalError:
            return False
        connection.execute("ROLLBACK")
    return True


async def until_lost(ledger: Ledger, fleet: Fleet) -> None:
    """Wait until the store has closed attempts of the frozen worker as lost."""
    until = monotonic() + PATIENCE_SECONDS
    while monotonic() < until:
        found = await ledger.lost_attempts()
        if found - ledger.lost_seen:
            ledger.lost_seen = found
            return
        await pause_seconds(0.1)
    pytest.fail(f"nobody took over from the frozen worker\n{fleet.logs()}")


async def until_a_zombie_reports(ledger: Ledger, fleet: Fleet) -> None:
    """Wait until the store has answered a report of work that it had taken from its worker.

    That the handler has ended is not enough: a keeper that is thawed kills its children at once,
    and what they had not reported by then never puts the fence to the test.
    """
    until = monotonic() + PATIENCE_SECONDS
    while monotonic() < until:
        reported = {
            (item.job, item.attempt)
            for item in effects_of(fleet.effects)
            if item.event == "reported"
        }
        zombies = reported & await ledger.lost_attempts()
        if zombies - ledger.zombies_seen:
            ledger.zombies_seen = zombies
            return
        await pause_seconds(0.1)
    pytest.fail(f"no zombie reported its work\n{fleet.logs()}")


async def wait_until_final(ledger: Ledger, fleet: Fleet) -> None:
    """Wait until every submitted job has ended; fail with the workers' words if one never does."""
    until = monotonic() + PATIENCE_SECONDS
    waiting = set(ledger.acknowledged | ledger.unknown)
    while waiting and monotonic() < until:
        job_id = min(waiting)
        try:
            job = await ledger.desk.wait_for_change(job_id, None, 1.0)
        except MainspringError:
            if job_id in ledger.unknown:
                waiting.discard(job_id)
            continue
        if job.state in FINAL:
            waiting.discard(job_id)
            continue
        await ledger.desk.wait_for_change(job_id, job, 1.0)
    if waiting:
        stuck = await ledger.desk.get_job(min(waiting))
        pytest.fail(f"{len(waiting)} jobs never ended, one is {stuck}\n{fleet.logs()}")


async def gather(ledger: Ledger, fleet: Fleet, store_url: str) -> History:
    """Read both records."""
    store = await open_store(Settings(store_url=store_url))
    try:
        recorded = {}
        for job_id in ledger.acknowledged | ledger.unknown:
            job = await store.get_job(job_id)
            if job is not None:
                recorded[job_id] = Recorded(job, await store.list_attempts(job_id))
        workers = await store.list_workers()
    finally:
        await store.close()
    return History(
        acknowledged=ledger.acknowledged,
        unknown=ledger.unknown,
        recorded=recorded,
        effects=effects_of(fleet.effects),
        disturbed={item.id for item in workers if item.pid in fleet.disturbed_pids},
    )


def effects_of(path: Path) -> list[Effect]:
    """Read the handlers' own log."""
    return [msgspec.json.decode(line, type=Effect) for line in path.read_bytes().splitlines()]


def prove(history: History, seed: int, fleet: Fleet) -> None:
    """Fail with every broken law, and the seed that repeats the run."""
    findings: list[Finding] = check(history)
    if findings:
        shown = "\n".join(f"  {item.law}: {item.job}: {item.detail}" for item in findings[:20])
        pytest.fail(
            f"{len(findings)} findings, repeat with CHAOS_SEED={seed}\n{shown}\n{fleet.logs()}"
        )
