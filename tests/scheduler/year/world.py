"""A world on a virtual clock: schedulers that die, sleep and lose their store, and one worker.

Everything that happens is drawn from one seed. Nothing waits: time jumps to what comes next.
"""

import asyncio
import heapq
import itertools
import random
from collections.abc import Callable, Sequence
from datetime import timedelta
from typing import Any

from mainspring.agenda.standing import Ruling, Standing
from mainspring.domain.errors import ConnectionFailed, OutcomeUnknown
from mainspring.domain.job import Claimed, JobFilter, JobView
from mainspring.domain.outcome import Outcome
from mainspring.domain.schedule import Outcome as FireOutcome
from mainspring.domain.schedule import ScheduleState, ScheduleView
from mainspring.ports.schedules import Judge, ScheduleFilter
from mainspring.ports.store import Store
from mainspring.registry.desk import FrontDesk
from mainspring.registry.ledger import cursor_of, rows_between
from mainspring.scheduler.firing import Firing
from mainspring.testing.builders import claim_ask, id_at, lanes, new_session, verdict
from mainspring.testing.clock import SettableClock
from mainspring.testing.conformance.steps import FAILED, FAILED_FOR_GOOD, SUCCEEDED
from mainspring.timetable.zones import zone_data_number
from tests.registry.drafts import ADA
from tests.scheduler.year.ledgers import Kept, by_schedule, ends_well, wrong
from tests.scheduler.year.plans import BEGIN, CALENDARS, Plan

HOUR = 3600.0
DAY = 24 * HOUR
#: No step of a scheduler goes on for longer than this many looks.
_LOOKS_MAX = 50
_SLOTS = 500

#: Changes a ruling before the store carries it out: a bug, planted.
Spoil = Callable[[Standing, Ruling], Ruling]


class Killed(Exception):
    """The process of a scheduler is gone."""


class Faulty:
    """A store as one scheduler sees it: in the way of every call stands what is to happen to it."""

    def __init__(self, store: Store, dice: random.Random, spoil: Spoil | None) -> None:
        self.store = store
        self._dice = dice
        self._spoil = spoil
        #: What happens to the next calls: a word a call.
        self.fate = ""
        self.counts: dict[str, int] = {}

    @property
    def wakeups(self) -> Any:
        """Return the hints of the store."""
        return self.store.wakeups

    async def next_look_ms(self, *, zones: int) -> int | None:
        """Look, unless the store is away."""
        if self.fate == "partitioned":
            self._happens()
            raise ConnectionFailed("the store is away")
        return await self.store.next_look_ms(zones=zones)

    async def judge_due(self, judge: Judge, *, zones: int, limit: int) -> Any:
        """Judge, and die before it, in the middle of it, or when it is done."""
        judge = self._spoilt(judge)
        if self.fate == "dies_before":
            self._happens()
            raise Killed
        if self.fate == "dies_within":
            judge = self._dying(judge)
        answer = await self.store.judge_due(judge, zones=zones, limit=limit)
        if self.fate == "dies_after":
            self._happens()
            raise Killed
        if self.fate == "answer_lost":
            self._happens()
            self.fate = ""
            raise OutcomeUnknown("the answer was lost")
        return answer

    async def release_backfills(self, make: Any, *, limit: int) -> Any:
        """Release."""
        return await self.store.release_backfills(make, limit=limit)

    def _happens(self) -> None:
        self.counts[self.fate] = self.counts.get(self.fate, 0) + 1

    def _dying(self, judge: Judge) -> Judge:
        left = self._dice.randrange(4)

        def dying(standing: Standing) -> Ruling:
            nonlocal left
            if left == 0:
                self._happens()
                raise Killed
            left -= 1
            return judge(standing)

        return dying

    def _spoilt(self, judge: Judge) -> Judge:
        spoil = self._spoil
        if spoil is None:
            return judge
        return lambda standing: spoil(standing, judge(standing))


class Node:
    """The process of a scheduler: born, killed, born again."""

    def __init__(
        self, faulty: Faulty, new_id: Callable[[], bytes], roll: Callable[[], float]
    ) -> None:
        self.faulty = faulty
        self._new_id = new_id
        self._roll = roll
        #: It sleeps, or is dead, until then.
        self.away_until = 0.0
        self._role = self._born()

    def _born(self) -> Firing:
        return Firing(self.faulty, new_id=self._new_id, roll=self._roll)  # type: ignore[arg-type]  # the part of a store that it uses

    async def work(self) -> None:
        """Step until it wants to rest, or dies."""
        for _ in range(_LOOKS_MAX):
            try:
                if await self._role.step() > 0:
                    return
            except Killed:
                self._role = self._born()
                self.faulty.fate = ""
                return
            except (ConnectionFailed, OutcomeUnknown):
                return


class World:
    """Schedules, their schedulers and a worker, for as long as is wanted."""

    def __init__(
        self,
        stores: Sequence[Store],
        clock: SettableClock,
        seed: int,
        *,
        spoil: Spoil | None = None,
    ) -> None:
        self.dice = random.Random(seed)
        self.clock = clock
        self._numbers = itertools.count()
        self.store = stores[0]
        self._new_id: Callable[[], bytes] = lambda: id_at(
            clock.now(), next(self._numbers) << 32 | self.dice.getrandbits(32)
        )
        self.desk = FrontDesk(self.store, blobs=None, new_id=self._new_id)
        self.nodes = [
            Node(Faulty(store, self.dice, spoil), self._new_id, self.dice.random)
            for store in stores
        ]
        self.plans: dict[bytes, Plan] = {}
        self.began: dict[bytes, int] = {}
        self.pauses: dict[bytes, list[tuple[float, float]]] = {}
        self.ticks = 0
        self._worker = b""
        self._beats_at = 0.0
        self._held: list[tuple[float, int, Claimed, Outcome]] = []
        self._away_until = 0.0
        self._stride = 0.0
        self._stride_until = 0.0
        self._unseen = 0

    @property
    def now(self) -> float:
        """Return the instant in seconds."""
        return self.clock.now().timestamp()

    async def begin(self, plans: Sequence[Plan]) -> None:
        """Make calendars and schedules, and open the worker's session."""
        self.clock.set(BEGIN)
        for calendar in CALENDARS:
            await self.desk.schedules.put_calendar(calendar, actor=ADA)
        for plan in plans:
            view = await self.desk.schedules.create(plan.draft, actor=ADA)
            self.plans[view.id] = plan
            self.began[view.id] = int(self.now)
        session = new_session(queues={"reports": _SLOTS}, kinds=("report",))
        self._worker = session.id
        await self.store.open_session(session)

    async def live(self, days: int) -> None:
        """Let so many days pass, with everything that goes wrong on them."""
        end = BEGIN.timestamp() + days * DAY
        while self.now < end:
            self._draw()
            await self._tick()
            await self._pass(end)

    async def heal(self, days: float) -> None:
        """Let all be well for a while, and everything come to its end."""
        end = self.now + days * DAY
        for node in self.nodes:
            node.away_until, node.faulty.fate = 0.0, ""
        self._away_until = 0.0
        self._held = [(0.0, number, job, outcome) for _, number, job, outcome in self._held]
        while self.now < end:
            self._stride, self._stride_until = 30.0, end
            await self._tick(calm=True)
            await self._pass(end)
        while await self._tick(calm=True):
            pass

    # --- what goes wrong ------------------------------------------------------------------------

    def _draw(self) -> None:
        now, dice = self.now, self.dice
        if now >= self._stride_until:
            self._stride = dice.choice((20.0, 300.0, 900.0, 1800.0, HOUR))
            self._stride_until = now + dice.uniform(0.2, 2.0) * DAY
            if dice.random() < 0.12:
                # Nobody fires anything, for minutes or for days.
                self._away_until = now + dice.choice((0.2, 1.0, 5.0, 30.0, 120.0)) * HOUR
        for node in self.nodes:
            if dice.random() < 0.01:
                node.away_until = now + dice.choice((0.1, 2.0, 10.0, 60.0)) * HOUR
            if node.faulty.fate == "partitioned":
                if dice.random() < 0.1:
                    node.faulty.fate = ""
            elif dice.random() < 0.1:
                fates = ("dies_before", "dies_within", "dies_after", "answer_lost", "partitioned")
                node.faulty.fate = dice.choice(fates)

    # --- what happens ---------------------------------------------------------------------------

    async def _tick(self, *, calm: bool = False) -> bool:
        """Let everybody do what is to be done at this moment; say whether a job ended."""
        self.ticks += 1
        if self.now >= self._away_until:
            up = [node for node in self.nodes if self.now >= node.away_until]
            self.dice.shuffle(up)
            await asyncio.gather(*(node.work() for node in up))
        ended = await self._work(calm=calm)
        await self._operate(calm=calm)
        return ended

    async def _work(self, *, calm: bool) -> bool:
        now, store = self.now, self.store
        if now >= self._beats_at:
            await store.beat(self._worker)
            self._beats_at = now + DAY
        done = []
        while self._held and self._held[0][0] <= now:
            _, _, job, outcome = heapq.heappop(self._held)
            done.append(verdict(job, outcome))
        if done:
            await store.settle(done)
        while len(self._held) < _SLOTS:
            ask = claim_ask(
                self._worker, lanes=lanes({"reports": 100}), kinds=("report",), limit=100
            )
            claimed = await store.claim(ask)
            if not claimed:
                break
            at_once = [self._take(job, calm=calm) for job in claimed]
            found = [verdict(job, outcome) for job, outcome in at_once if outcome is not None]
            if found:
                done += found
                await store.settle(found)
        return bool(done)

    def _take(self, job: Claimed, *, calm: bool) -> tuple[Claimed, Outcome | None]:
        """Draw how a job goes: at once, after a while, in the end not at all."""
        luck = self.dice.random()
        outcome: Outcome = SUCCEEDED
        if luck > 0.95:
            outcome = FAILED_FOR_GOOD
        elif luck > 0.9:
            outcome = FAILED
        if calm or luck < 0.7 or luck > 0.92:
            return job, outcome
        ready_at = self.now + self.dice.choice((60.0, HOUR, 7 * HOUR, 40 * HOUR))
        heapq.heappush(self._held, (ready_at, next(self._numbers), job, outcome))
        return job, None

    async def _operate(self, *, calm: bool) -> None:
        """Take up what failures have paused."""
        if not calm and self.ticks % 20:
            return
        wanted = ScheduleFilter(states=frozenset({ScheduleState.PAUSED}))
        for view in await self.store.list_schedules(wanted, limit=500):
            assert view.paused_at is not None
            catch_up = self.dice.random() < 0.5
            self.pauses.setdefault(view.id, []).append((view.paused_at.timestamp(), self.now))
            await self.desk.schedules.resume(view.schedule_id, catch_up=catch_up, actor=ADA)

    async def _pass(self, end: float) -> None:
        """Jump to what comes next, but never by less than the stride of these days."""
        coming = [self._away_until] if self.now < self._away_until else []
        coming += [at for at, *_ in self._held[:1]]
        if self._stride < 900.0:
            look = await self.store.next_look_ms(zones=zone_data_number())
            if look is not None and self.now >= self._away_until:
                coming.append(self.now + look / 1000)
            due = await self.store.next_due_ms(("reports",), ("report",))
            if due is not None:
                coming.append(self.now + due / 1000)
        following = min(coming, default=self.now)
        step = max(following - self.now, self._stride * self.dice.uniform(0.5, 1.5), 0.05)
        self.clock.advance(timedelta(seconds=min(step, max(end - self.now, 0.0)) or 0.001))

    # --- what is left ---------------------------------------------------------------------------

    async def wrong(self) -> list[str]:
        """Return everything that is wrong, by the second opinion and by the product's audit."""
        jobs = by_schedule(await self._jobs())
        found: list[str] = []
        for schedule_id, plan in self.plans.items():
            view = await self.store.get_schedule(schedule_id)
            assert view is not None
            found += ends_well(jobs.get(schedule_id, {}))
            found += wrong(await self._kept(view, plan, jobs.get(schedule_id, {})))
        return found

    async def audited(self) -> list[str]:
        """Return what the product's own audit finds."""
        found: list[str] = []
        for schedule_id, plan in self.plans.items():
            view = await self.store.get_schedule(schedule_id)
            assert view is not None
            seen = await self.desk.schedules.audit(view.schedule_id)
            audited = seen.audited
            if seen.undecided or not audited.is_complete or audited.findings:
                shown = [
                    f"{each.kind} {each.nominal_at} {each.detail}" for each in audited.findings
                ]
                found.append(f"{plan.name}: {seen.undecided} undecided, {shown[:3]}")
        return found

    async def _kept(self, view: ScheduleView, plan: Plan, jobs: dict[bytes, JobView]) -> Kept:
        begin, through = self.began[view.id], cursor_of(view).through
        rows, _ = await rows_between(self.store, view.id, begin, int(self.now) + 86_400)
        return Kept(
            plan=plan,
            after=begin,
            now=int(self.now),
            through=min(through, int(self.now) + 86_400),
            rows=rows,
            jobs=jobs,
            pauses=self.pauses.get(view.id, ()),
        )

    async def _jobs(self) -> list[JobView]:
        found: list[JobView] = []
        before: bytes | None = None
        while True:
            page = await self.store.list_jobs(JobFilter(), limit=500, before=before)
            found += page.items
            if len(page.items) < 500:
                return found[self._unseen :]
            before = page.items[-1].id

    async def outcomes(self) -> set[FireOutcome]:
        """Return which outcomes have come about."""
        found: set[FireOutcome] = set()
        for schedule_id in self.plans:
            rows, _ = await rows_between(
                self.store, schedule_id, self.began[schedule_id], int(self.now)
            )
            found |= {row.outcome for row in rows}
        return found

    def forget_one_job(self) -> None:
        """Look away from one of the jobs, as if the store had lost it."""
        self._unseen += 1

    def faults(self) -> dict[str, int]:
        """Return how often each fault has happened."""
        found: dict[str, int] = {}
        for node in self.nodes:
            for fate, count in node.faulty.counts.items():
                found[fate] = found.get(fate, 0) + count
        return found
