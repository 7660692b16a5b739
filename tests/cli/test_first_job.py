"""docs/start/first-job.md is what really happens: every command in it is run, in order."""

import re
import shlex
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import pytest

from tests.cli.conftest import ROOT, Commands, Done, Running, environment

PAGE = ROOT / "docs/start/first-job.md"
BLOCK = re.compile(r"^```(console|python)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
#: However this program was called: where it is not on PATH, it says so.
CALLED = re.compile(r"(\S+ -m |\S*/)?mainspring (?=submit|handlers)")
JOB = re.compile(r"job_[0-9A-Z]{26}")


class Block(NamedTuple):
    language: str
    text: str


def blocks() -> Iterator[Block]:
    for found in BLOCK.finditer(PAGE.read_text()):
        yield Block(found[1], found[2])


def spoken(done: Done) -> list[str]:
    """Everything that was printed, in the order of the page: the id, the story, the result."""
    first, *rest = done.out.splitlines() or [""]
    if not JOB.match(first) or first.startswith("ID"):
        return [*done.out.splitlines(), *done.err.splitlines()]
    return [first, *done.err.splitlines(), *rest]


def matches(expected: str, line: str) -> bool:
    """Whether a printed line is the page's, where an ellipsis stands for anything."""
    shape = re.escape(expected.strip()).replace("…", ".*").replace(r"\ ", r"\s+")
    return re.fullmatch(re.sub(r"(\\s\+)+", r"\\s+", shape), line.strip()) is not None


class Reader:
    """Does what the page says, as a reader would: `dev` in one terminal, the rest in another."""

    def __init__(self, commands: Commands) -> None:
        self.commands = commands
        self.dev: Running | None = None
        self.last_job = ""

    def do(self, block: Block) -> None:
        if block.language == "python":
            self.write(block.text)
            return
        first, *expected = block.text.splitlines()
        words = shlex.split(first.removeprefix("$ mainspring "))
        if words[0] == "dev":
            self.start_dev(words, expected)
            return
        done = self.commands(*[word.replace("job_…", self.last_job) for word in words])
        if found := JOB.search(done.out):
            self.last_job = found[0]
        said = spoken(done)
        assert len(said) == len(expected), (said, expected)
        for wanted, line in zip(expected, said, strict=True):
            assert matches(wanted, line), (wanted, line)

    def start_dev(self, words: list[str], expected: list[str]) -> None:
        self.stop_dev()
        self.dev = self.commands.start(*words)
        self.dev.wait_for("ready; in a second terminal")
        for wanted, line in zip(expected, self.dev.lines, strict=True):
            assert matches(wanted, CALLED.sub("mainspring ", line)), (wanted, line)

    def write(self, text: str) -> None:
        if "connect_sync" not in text:
            (self.commands.folder / "app.py").write_text(text)
            return
        done = subprocess.run(
            [sys.executable, "-c", text],
            cwd=self.commands.folder,
            env=environment() | {"PYTHONPATH": f"{ROOT}:{self.commands.folder}"},
            capture_output=True,
            text=True,
            timeout=40,
            check=False,
        )
        assert (done.returncode, done.stdout) == (0, "Welcome, Ada and Ada\n"), done.stderr

    def stop_dev(self) -> None:
        if self.dev is not None:
            assert self.dev.end(signal.SIGINT) == 0, self.dev.text
            assert "nothing is lost" in self.dev.text
            self.dev.kill()


@pytest.mark.slow
@pytest.mark.timeout(240)
def test_the_first_five_minutes_are_as_written(tmp_path: Path) -> None:
    reader = Reader(Commands(tmp_path))
    try:
        for block in blocks():
            reader.do(block)
        reader.stop_dev()
    finally:
        if reader.dev is not None:
            reader.dev.kill()


def test_a_line_that_differs_is_noticed() -> None:
    assert matches("job_…  doomed  3/3  … ago", "job_01X  doomed    3/3  4s ago")
    assert not matches("job_…  doomed  3/3", "job_01X  doomed  2/3")
    assert not matches("succeeded", "succeeded 5")
