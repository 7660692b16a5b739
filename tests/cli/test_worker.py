"""`mainspring worker start`: drains on SIGTERM, tells what it runs, recovers what others lost."""

import re
import signal
from collections.abc import Callable

import pytest

from tests.cli.conftest import Commands, Running

pytestmark = [pytest.mark.slow, pytest.mark.timeout(180)]
APP = "mainspring.cli.tour:app"


def test_sigterm_drains_and_ends_with_zero(
    start: Callable[..., Running], mainspring: Commands
) -> None:
    name = mainspring("submit", "slow", "steps:=5", expect=0).out.strip()
    worker = start("worker", "start", APP, "--queues", "default:2", "--name", "one")
    worker.wait_for("worker one: 6 handlers, queue default:2, 1 process on sqlite")
    watching = start("jobs", "watch", name, "--follow")
    watching.wait_for("page written")
    assert worker.end(signal.SIGTERM) == 0
    assert watching.end() == 0
    job = mainspring("jobs", "get", name, "-o", "json", expect=0).json()
    assert (job["state"], job["result"]) == ("succeeded", "5 pages")
    listed = mainspring("workers", "ls", "-o", "json", expect=0).json()
    assert [(item["name"], item["state"]) for item in listed] == [("one", "gone")]


def test_queues_are_listed_with_who_serves_them(
    start: Callable[..., Running], mainspring: Commands
) -> None:
    mainspring("submit", "greet", "--queue", "alone", expect=0)
    worker = start("worker", "start", APP, "--queues", "defaultt:2,x:y")
    worker.wait_for("no handler of this app names the queue 'defaultt'; did you mean default")
    worker.wait_for("no handler of this app names the queue 'x:y'; it names default")
    worker.wait_for("worker mainspring.cli.tour: ")
    # It has a session when it has run something.
    mainspring("submit", "greet", "--queue", "x:y", "--wait", expect=0)
    listed = mainspring("queues", "ls", "-o", "json", expect=0).json()
    assert [(item["name"], item["ready"], item["slots"]) for item in listed] == [
        ("alone", 1, 0), ("default", 0, 0), ("defaultt", 0, 2), ("x:y", 0, 8),
    ]  # fmt: skip
    table = mainspring("queues", "ls", expect=0).out.splitlines()
    assert [line.split()[:3] for line in table] == [
        ["QUEUE", "SLOTS", "READY"], ["alone", "none", "1"], ["default", "none", "0"],
        ["defaultt", "2", "0"], ["x:y", "8", "0"],
    ]  # fmt: skip
    assert worker.end(signal.SIGTERM) == 0


def test_a_drain_that_runs_out_hands_back(
    start: Callable[..., Running], mainspring: Commands
) -> None:
    name = mainspring("submit", "slow", "steps:=200", expect=0).out.strip()
    worker = start("worker", "start", APP, "--drain-timeout", "100ms")
    watching = start("jobs", "watch", name, "--follow")
    watching.wait_for("page written")
    assert worker.end(signal.SIGTERM) == 0
    watching.wait_for("attempt 1.* released")
    mainspring("jobs", "cancel", name, expect=0)
    assert watching.end() == 5


def test_a_killed_worker_loses_nothing(start: Callable[..., Running], mainspring: Commands) -> None:
    name = mainspring("submit", "slow", "steps:=10", expect=0).out.strip()
    first = start("worker", "start", APP, "--lease", "2s", "--name", "first")
    watching = start("jobs", "watch", name, "--follow")
    watching.wait_for("page written")
    first.end(signal.SIGKILL)
    start("worker", "start", APP, "--lease", "2s", "--name", "second")
    assert watching.end() == 0
    assert re.search("attempt 1/5 lost", watching.text)
    attempts = mainspring("jobs", "get", name, "-o", "json", expect=0).json()["attempts"]
    assert [item["state"] for item in attempts] == ["lost", "succeeded"]


def test_a_worker_on_no_tables_says_so_and_ends(mainspring: Commands) -> None:
    mainspring.store.unlink()
    done = mainspring("worker", "start", APP)
    assert (done.code, done.error_code) == (6, "store_not_migrated")
    assert "mainspring dev makes one here" in done.err
