"""Schedules for chaos runs, and the proof of their ledgers."""

from collections import Counter
from collections.abc import Mapping, Sequence
from datetime import datetime

import pytest

from mainspring.domain.audit import Audited
from mainspring.domain.errors import ConnectionFailed
from mainspring.domain.ids import SCHEDULE, show
from mainspring.domain.job import JobFilter, JobView
from mainspring.domain.schedule import SPAN, FireView, Outcome
from mainspring.domain.states import JobState
from mainspring.ports.clock import monotonic, pause_seconds
from mainspring.ports.entropy import new_job_id, roll
from mainspring.ports.gateway import Submission
from mainspring.ports.scheduling import ScheduleDraft
from mainspring.ports.store import Store
from mainspring.registry.desk import FrontDesk
from mainspring.registry.ledger import rows_between
from mainspring.runtime.assemble import open_store
from mainspring.runtime.setting_table import Settings
from mainspring.scheduler.firing import Firing

#: Far beyond what a healthy run needs; only a run that hangs gets there.
PATIENCE_SECONDS = 120.0
_ACTOR = "chaos"
#: A limit that no run reaches; where there is one, nothing is prepared before it is due.
_AT_ONCE: Mapping[str, str | int | bool | None] = {"pause_after_failures": 1000}
#: Rules and policies that leave no second without a fire. The first ones never wait for a job.
DENSE: Mapping[str, tuple[str, Mapping[str, str | int | bool | None]]] = {
    "each-second": ("every 1s", {"overlap": "allow", "misfire": "fire_all", **_AT_ONCE}),
    "on-time-only": (
        "* * * * * *",
        {"overlap": "allow", "misfire": "skip", "misfire_threshold_seconds": 1, **_AT_ONCE},
    ),
    "caught-up-once": (
        "*/2 * * * * *",
        {"overlap": "allow", "misfire": "fire_once", "misfire_threshold_seconds": 0},
    ),
    "prepared": ("every 1s", {"overlap": "allow"}),
    "one-at-a-time": ("every 2s", {"overlap": "defer", "misfire": "fire_all"}),
    "skips": ("every 1s", {"overlap": "skip"}),
    "replaces": ("*/3 * * * * *", {"overlap": "replace"}),
}


async def schedule_densely(
    store: Store, *, kind: str, payload: bytes = b"{}", copies: int = 1
) -> list[bytes]:
    """Make the dense schedules; return their ids."""
    desk = FrontDesk(store, blobs=None, new_id=new_job_id)
    work = Submission(
        kind=kind, kind_is_known=True, payload=payload, max_attempts=200, max_crashes=100
    )
    return [
        (
            await desk.schedules.create(
                ScheduleDraft(
                    name=f"{name}-{number}", when=(when,), work=work, policies=dict(policies)
                ),
                actor=_ACTOR,
            )
        ).id
        for number in range(copies)
        for name, (when, policies) in DENSE.items()
    ]


async def until_fired(store: Store, schedules: Sequence[bytes], more: int) -> None:
    """Wait until so many more fires of each were due and have their rows."""
    begin = await store.now()
    until = monotonic() + PATIENCE_SECONDS
    for schedule_id in schedules:
        while await _rows_since(store, schedule_id, begin) < more:
            if monotonic() > until:
                pytest.fail(f"the schedule {schedules.index(schedule_id)} fires no more")
            await pause_seconds(0.02)


async def _rows_since(store: Store, schedule_id: bytes, begin: datetime) -> int:
    try:
        now = await store.now()
        return len(await store.list_fires(schedule_id, after=begin, until=now, limit=100))
    except ConnectionFailed:
        return 0


async def until_succeeded(store: Store, schedules: Sequence[bytes], count: int) -> None:
    """Wait until so many jobs of each have done their work."""
    until = monotonic() + PATIENCE_SECONDS
    for schedule_id in schedules:
        ended: list[FireView] = []
        while len(ended) < count:
            if monotonic() > until:
                pytest.fail("the jobs of fires do not get on")
            rows = await store.list_fires(schedule_id, until=await store.now(), limit=500)
            ended = [row for row in rows if row.job_state is JobState.SUCCEEDED]
            await pause_seconds(0.05)


async def catch_up(store: Store) -> None:
    """Let a scheduler that nobody disturbs decide what the others left."""
    scheduler = Firing(store, new_id=new_job_id, roll=roll)
    while await scheduler.step() == 0.0:
        pass


async def pause_all(store: Store, schedules: Sequence[bytes]) -> set[bytes]:
    """Pause schedules; return the jobs that they made and keep."""
    desk = FrontDesk(store, blobs=None, new_id=new_job_id)
    for schedule_id in schedules:
        await desk.schedules.pause(show(SCHEDULE, schedule_id), actor=_ACTOR)
    return {job.id for job in await _jobs(store) if job.schedule_id is not None}


async def fire_each(store: Store, schedules: Sequence[bytes]) -> None:
    """Let a scheduler work until each schedule has had a fire that was due."""
    for schedule_id in schedules:
        while not await store.list_fires(schedule_id, until=await store.now(), limit=1):
            await catch_up(store)


async def fires_proven(store_url: str, schedules: Sequence[bytes]) -> int:
    """Catch up, then prove each ledger; return how many fires became jobs.

    The product's audit looks for gaps and doubles; what it does not look at is looked at here: each
    row has its job, each job its row, and none fires before it is due by the store's clock.
    """
    store = await open_store(Settings(store_url=store_url))
    try:
        await catch_up(store)
        jobs = await _jobs(store)
        made = 0
        for schedule_id in schedules:
            mine = {job.id: job for job in jobs if job.schedule_id == schedule_id}
            made += await _prove(store, schedule_id, mine)
        return made
    finally:
        await store.close()


async def _prove(store: Store, schedule_id: bytes, jobs: Mapping[bytes, JobView]) -> int:
    view = await store.get_schedule(schedule_id)
    assert view is not None
    desk = FrontDesk(store, blobs=None, new_id=new_job_id)
    audited: Audited = (await desk.schedules.audit(view.schedule_id)).audited
    assert not audited.findings, (view.name, audited.findings)
    assert audited.is_complete
    assert audited.accounted == audited.expected > 0, view.name
    begin = int(view.created_at.timestamp()) - 1
    until = int((await store.now()).timestamp()) + 86_400
    rows, _ = await rows_between(store, schedule_id, begin, until)
    own = [row for row in rows if row.outcome is Outcome.JOB]
    wanted = Counter(row.job_id for row in own)
    assert set(wanted) == set(jobs), f"{view.name}: rows and jobs differ"
    assert set(wanted.values()) <= {1}, f"{view.name}: two rows name one job"
    instants = Counter(row.nominal_at for row in rows if row.sequence != SPAN)
    assert set(instants.values()) <= {1}, f"{view.name}: an instant twice"
    begun = [(job.started_at, job.nominal_at) for job in jobs.values() if job.started_at]
    early = [(at, nominal) for at, nominal in begun if nominal is not None and at < nominal]
    assert not early, f"{view.name}: {early[:3]} began before they were due"
    return len(own)


async def _jobs(store: Store) -> list[JobView]:
    found: list[JobView] = []
    before: bytes | None = None
    while True:
        page = await store.list_jobs(JobFilter(), limit=500, before=before)
        found += page.items
        if len(page.items) < 500:
            return found
        before = page.items[-1].id
