"""Pages with transcripts are what really happens: every command is run, in order."""

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

PAGES = (
    "start/first-five-minutes",
    "start/first-job",
    "guides/failures",
    "guides/command-line",
    "guides/deploying-schedules",
    "guides/schedules",
)
BLOCK = re.compile(r"^```(console|python|diff)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
#: However this program was called: where it is not on PATH, it says so.
CALLED = re.compile(r"(\S+ -m |\S*/)?mainspring (?=submit|handlers)")
GROUP = re.compile(r"group:([0-9a-f]{12})")
JOB = re.compile(r"job_[0-9A-Z]{26}")


class Block(NamedTuple):
    language: str
    text: str


def blocks(page: str) -> Iterator[Block]:
    """The commands of a page, each with what it prints, and what is written in between."""
    text = (ROOT / f"docs/{page}.md").read_text()
    for found in BLOCK.finditer(text):
        if found[1] != "console":
            yield Block(found[1], found[2])
            continue
        for command in re.split(r"^(?=\$ )", found[2], flags=re.MULTILINE):
            if command:
                yield Block("console", command)


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
        self.last_group = ""
        self.last_code = 0

    def do(self, block: Block) -> None:
        if block.language != "console":
            self.write(block)
            return
        first, *expected = block.text.splitlines()
        expected = [line for line in expected if line.strip()]
        words = shlex.split(first.removeprefix("$ "))
        if words[0] == "cd":
            self.commands = Commands(self.commands.folder / words[1])
        elif words[0] == "echo":
            assert (words[1], expected) == ("$?", [str(self.last_code)])
        elif words[1] == "dev":
            self.start_dev(words[1:], expected)
        else:
            self.type(words[1:], expected)

    def type(self, words: list[str], expected: list[str]) -> None:
        """Type a command, with the ids that came before, and compare what it says."""
        names = {"job_…": self.last_job, "GROUP_ID": self.last_group}
        for name, value in names.items():
            words = [word.replace(name, value) for word in words]
        done = self.commands(*words)
        self.last_code = done.code
        if found := JOB.search(done.out):
            self.last_job = found[0]
        if group := GROUP.search(done.err):
            self.last_group = group[1]
            expected = [line.replace("GROUP_ID", group[1]) for line in expected]
        said = [line for line in spoken(done) if line.strip()]
        if "…" in expected:
            # Alone on its line it stands for any number of lines.
            place = expected.index("…")
            said[place : len(said) - (len(expected) - place - 1)] = ["…"]
        assert len(said) == len(expected), (said, expected)
        for wanted, line in zip(expected, said, strict=True):
            assert matches(wanted, line), (wanted, line)

    def start_dev(self, words: list[str], expected: list[str]) -> None:
        self.stop_dev()
        self.dev = self.commands.start(*words)
        self.dev.wait_for("ready; in a second terminal")
        told = [line for line in self.dev.lines if line.strip()]
        for wanted, line in zip(expected, told, strict=True):
            assert matches(wanted, CALLED.sub("mainspring ", line)), (wanted, line)

    def write(self, block: Block) -> None:
        text = block.text
        if block.language == "diff":
            self.mend(*(line[1:] for line in text.splitlines()))
            return
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

    def mend(self, old: str, new: str) -> None:
        """Edit the app as the page says, and wait until it is taken up."""
        file = self.commands.folder / "app.py"
        before = file.read_text()
        assert before.count(old) == 1
        file.write_text(before.replace(old, new))
        if self.dev is not None:
            self.dev.wait_for("app.py saved: reloading")
            self.dev.wait_for("ready: 3 handlers")

    def stop_dev(self) -> None:
        if self.dev is not None:
            assert self.dev.end(signal.SIGINT) == 0, self.dev.text
            assert "nothing is lost" in self.dev.text
            self.dev.kill()


@pytest.mark.slow
@pytest.mark.timeout(240)
@pytest.mark.parametrize("page", PAGES)
def test_a_page_is_as_written(page: str, tmp_path: Path) -> None:
    reader = Reader(Commands(tmp_path))
    try:
        for block in blocks(page):
            reader.do(block)
        reader.stop_dev()
    finally:
        if reader.dev is not None:
            reader.dev.kill()


def test_a_line_that_differs_is_noticed() -> None:
    assert matches("job_…  doomed  3/3  … ago", "job_01X  doomed    3/3  4s ago")
    assert not matches("job_…  doomed  3/3", "job_01X  doomed  2/3")
    assert not matches("succeeded", "succeeded 5")
