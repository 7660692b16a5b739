"""A command that is forked from a warm process is the command that users start."""

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from tests.cli.conftest import Commands, environment
from tests.cli.warm import Warm

LINES: tuple[tuple[str, ...], ...] = (
    ("version",),
    ("--help",),
    ("jobs", "ls"),
    ("jobs", "ls", "-o", "json"),
    ("jobs", "get", "no-such-job"),
    ("queues", "ls"),
    ("schedules", "lint"),
    ("submit", "nothing-that-is-known"),
    ("submit", "greet", "--payload", "-"),
    ("worker", "start", "no_such_module:app"),
    ("db", "status"),
    ("not-a-command",),
)


@pytest.mark.parametrize("words", LINES, ids=" ".join)
def test_it_says_and_returns_the_same(mainspring: Commands, words: tuple[str, ...]) -> None:
    warm = mainspring(*words, stdin=b"{no json")
    assert warm == mainspring.cold(*words, stdin=b"{no json")


def test_each_has_dice_of_its_own(mainspring: Commands) -> None:
    names = [mainspring("submit", "greet", "-o", "name", expect=0).out for _ in range(3)]
    assert len(set(names)) == 3


def test_what_was_set_for_one_is_not_set_for_the_next(mainspring: Commands) -> None:
    before = mainspring("jobs", "ls", "-o", "json", expect=0)
    other = mainspring("jobs", "ls", env={"MAINSPRING_STORE": "sqlite:///nowhere/at-all.db"})
    assert other.code != 0
    assert mainspring("jobs", "ls", "-o", "json", expect=0) == before


def test_one_that_does_not_end_is_killed(mainspring: Commands) -> None:
    waiting = ("jobs", "wait", mainspring("submit", "greet", "-o", "name", expect=0).out.strip())
    with pytest.raises(AssertionError, match="does not end"):
        Commands.warm.run(waiting, mainspring.folder, environment(), None, 0.5)
    assert mainspring("jobs", "ls", expect=0).code == 0


def test_one_may_wait_for_what_another_does(mainspring: Commands, tmp_path: Path) -> None:
    name = mainspring("submit", "greet", "-o", "name", expect=0).out.strip()
    with Warm(tmp_path, environment()) as warm, ThreadPoolExecutor(1) as pool:
        given = (mainspring.folder, environment(), None, 40)
        waiting = pool.submit(warm.run, ["jobs", "wait", name], *given)
        assert warm.run(["jobs", "cancel", name], *given)[0] == 0
        assert b"cancelled" in b"".join(waiting.result()[1:])
    assert warm._process.returncode == 0
