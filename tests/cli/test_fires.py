"""The job of a fire says so: which schedule, its nominal, due and actual instants."""

import asyncio
import shutil
from datetime import timedelta
from pathlib import Path

import pytest

from mainspring.domain.ids import show_job
from mainspring.domain.schedule import Outcome
from mainspring.ports.clock import utc_now
from mainspring.ports.entropy import new_job_id
from mainspring.ports.gateway import Submission
from mainspring.ports.scheduling import ScheduleDraft
from mainspring.registry.desk import FrontDesk
from mainspring.runtime.assemble import open_store
from mainspring.runtime.setting_table import Settings
from mainspring.scheduler.firing import Firing
from tests.cli.conftest import Commands


async def fill(path: Path) -> dict[str, str]:
    """Fire some schedules, and return the ids of their jobs by schedule."""
    store = await open_store(Settings(store_url=f"sqlite:///{path}"))
    try:
        desk = FrontDesk(store, blobs=None, new_id=new_job_id)
        soon = utc_now() + timedelta(minutes=5)
        at = f"{soon:%Y-%m-%dT%H:%M:%SZ}"
        for name, zone, jitter in (("plain", "UTC", 0), ("spread", "Asia/Tokyo", 300)):
            work = Submission(kind="greet", payload=b'{"name":"Ada"}')
            draft = ScheduleDraft(
                name=name,
                when=(at, "every 100d"),
                work=work,
                zone=zone,
                jitter_seconds=jitter,
            )
            await desk.schedules.create(draft, actor="ada")
        firing = Firing(store, new_id=new_job_id, roll=lambda: 0.5)
        while await firing.step() == 0.0:
            pass
        work = Submission(kind="greet", payload=b'{"name":"Bob"}')
        draft = ScheduleDraft(name="by-hand", when=("0 0 1 1 *",), work=work)
        await desk.schedules.create(draft, actor="ada")
        found = {"by-hand": show_job(await desk.schedules.fire_now("by-hand", actor="ada"))}
        for name in ("plain", "spread"):
            (row,) = await desk.schedules.history(name, outcomes=frozenset({Outcome.JOB}))
            assert row.job_id is not None
            found[name] = show_job(row.job_id)
        (submitted,) = await desk.submit([Submission(kind="greet", payload=b'{"name":"x"}')])
        return found | {"submitted": show_job(submitted.job_id)}
    finally:
        await store.close()


@pytest.fixture(scope="module")
def fired(tmp_path_factory: pytest.TempPathFactory, template: Path) -> tuple[Path, dict[str, str]]:
    path = tmp_path_factory.mktemp("fired") / "store.db"
    shutil.copy(template, path)
    return path, asyncio.run(fill(path))


@pytest.fixture
def jobs(mainspring: Commands, fired: tuple[Path, dict[str, str]]) -> dict[str, str]:
    shutil.copy(fired[0], mainspring.store)
    return fired[1]


def test_a_fired_job_shows_its_schedule_and_instants(
    mainspring: Commands, jobs: dict[str, str]
) -> None:
    page = mainspring("jobs", "get", jobs["plain"], expect=0).out
    lines = {line.split()[0]: line for line in page.splitlines() if line.startswith("  ")}
    assert "plain  (sch_" in lines["schedule"]
    assert lines["nominal"].partition("UTC")[0][10:] == lines["fire"].partition("UTC")[0][10:]
    found = mainspring("jobs", "get", jobs["plain"], "-o", "json", expect=0).json()
    fire = found["fire"]
    assert (fire["schedule"], fire["zone"], fire["cause"]) == ("plain", "UTC", "schedule")
    assert fire["nominal_at"] == fire["due_at"] == found["nominal_at"] == found["due_at"]
    assert fire["schedule_id"] == found["schedule_id"]
    assert fire["started_at"] is None


def test_jitter_and_the_local_clock_are_told(mainspring: Commands, jobs: dict[str, str]) -> None:
    page = mainspring("jobs", "get", jobs["spread"], expect=0).out
    assert "+09:00  (Asia/Tokyo)" in page
    assert "after the nominal instant" in page
    told = mainspring("jobs", "explain", jobs["spread"], expect=0).out
    assert "It is the fire of the schedule spread for" in told
    assert "Asia/Tokyo), due" in told
    assert "next: mainspring schedules get spread" in told
    why = mainspring("jobs", "explain", jobs["spread"], "-o", "json", expect=0).json()
    assert why["fire"]["schedule"] == "spread"
    assert why["fire"]["due_at"] > why["fire"]["nominal_at"]


def test_a_fire_by_hand_is_told(mainspring: Commands, jobs: dict[str, str]) -> None:
    assert "by hand" in mainspring("jobs", "get", jobs["by-hand"], expect=0).out
    told = mainspring("jobs", "explain", jobs["by-hand"], expect=0).out
    assert "UTC, by hand." in told


def test_a_job_that_was_submitted_is_no_fire(mainspring: Commands, jobs: dict[str, str]) -> None:
    found = mainspring("jobs", "get", jobs["submitted"], "-o", "json", expect=0).json()
    assert (found["fire"], found["schedule_id"], found["nominal_at"]) == (None, None, None)
    assert "schedule" not in mainspring("jobs", "explain", jobs["submitted"], expect=0).out


def test_jobs_are_listed_by_their_schedule(mainspring: Commands, jobs: dict[str, str]) -> None:
    def listed(*words: str) -> list[str]:
        return mainspring("jobs", "ls", *words, "-o", "name", expect=0).out.split()

    assert listed("--schedule", "plain") == [jobs["plain"]]
    found = mainspring("jobs", "get", jobs["plain"], "-o", "json", expect=0).json()
    assert listed("--schedule", found["schedule_id"]) == [jobs["plain"]]
    assert listed("-q", f"schedule:{found['schedule_id']}") == [jobs["plain"]]
    both = ("--schedule", "plain", "--state", "scheduled,ready", "--kind", "greet")
    assert listed(*both, "--queue", "default") == [jobs["plain"]]
    assert listed("--schedule", "plain", "-q", "args.name:Ada") == [jobs["plain"]]
    assert listed("--schedule", "plain", "-q", "args.name:Bob") == []
    assert listed("--schedule", "plain", "--since", "1h") == []
    assert set(listed("-q", "nominal:>2020-01-01")) == set(jobs.values()) - {jobs["submitted"]}


@pytest.mark.parametrize(
    ("words", "code", "name", "told"),
    [
        (["--schedule", "plane"], 3, "not_found", "did you mean plain?"),
        (["-q", "schedule:plain"], 2, "invalid_query", "jobs ls --schedule takes a name"),
        (["-q", "nominal:soon"], 2, "invalid_query", "nominal"),
        (["--schedule"], 2, "invalid_input", "--schedule needs a value"),
    ],
)
def test_a_slip_in_a_schedules_name_is_told(
    words: list[str],
    code: int,
    name: str,
    told: str,
    mainspring: Commands,
    jobs: dict[str, str],
) -> None:
    assert jobs
    done = mainspring("jobs", "ls", *words)
    assert (done.code, done.error_code, done.out) == (code, name, "")
    done.assert_told()
    assert told in done.err
