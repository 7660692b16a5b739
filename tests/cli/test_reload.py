"""`mainspring dev` while one works: saves are taken up, slips are told, keys do what they say."""

import os
import pty
import py_compile
import re
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from mainspring.cli.reloading import Saves
from tests.cli.conftest import PATIENCE_SECONDS, Commands, Running, environment

pytestmark = [pytest.mark.slow, pytest.mark.timeout(180)]

APP = """
from mainspring import App, Context
from mainspring.ports.clock import pause_seconds

app = App("shop")

@app.job()
async def word() -> str:
    return "{word}"

@app.job()
async def long(ctx: Context, seconds: float) -> str:
    ctx.log.info("began")
    await pause_seconds(seconds)
    return "{word}"
"""


class Project:
    """A project with one file, and `dev` on it."""

    def __init__(self, folder: Path) -> None:
        self.commands = Commands(folder)
        (folder / "mainspring.toml").write_text('app = "shop:app"\n')
        self.save("one")

    def save(self, word: str) -> None:
        (self.commands.folder / "shop.py").write_text(APP.replace("{word}", word))

    def say(self) -> str:
        return self.commands("submit", "word", "--wait", expect=0).out.splitlines()[-1]


@pytest.fixture
def project(tmp_path: Path) -> Project:
    return Project(tmp_path)


@pytest.fixture
def dev(project: Project) -> Iterator[Running]:
    running = project.commands.start("dev", "--drain-timeout", "3s")
    try:
        running.wait_for("reload on")
        running.wait_for("ready; in a second terminal: .* submit word --wait")
        yield running
    finally:
        running.kill()


def test_a_save_is_taken_up(project: Project, dev: Running) -> None:
    assert project.say() == '"one"'
    project.save("two")
    dev.wait_for("shop.py saved: reloading")
    dev.wait_for(r"ready: 2 handlers \(word, long\)")
    assert project.say() == '"two"'
    assert dev.end(signal.SIGINT) == 0
    states = [row["state"] for row in project.commands("workers", "ls", "-o", "json").json()]
    assert states == ["gone", "gone"]


def test_a_save_that_does_not_import_is_told_and_the_next_one_counts(
    project: Project, dev: Running
) -> None:
    project.save('one" + 1 / 0 # ')
    dev.wait_for("shop.py saved")
    file = project.commands.folder / "shop.py"
    for text, said in (
        ("def broken(:\n", "SyntaxError: .*shop.py, line 1"),
        ("x = 1\ny = 1 / 0\n", r"ZeroDivisionError: division by zero \(shop.py:2\)"),
        ("x = 1\n", "not a Mainspring App"),
    ):
        file.write_text(text)
        dev.wait_for(f"error: .*{said}")
        dev.wait_for("the old code goes on; mend it and save again")
    project.save("three")
    dev.wait_for("saved: reloading")
    assert project.say() == '"three"'
    assert dev.end(signal.SIGINT) == 0


def test_what_runs_ends_with_the_old_code(project: Project, dev: Running) -> None:
    name = project.commands("submit", "long", "seconds:=2", expect=0).out.strip()
    dev.wait_for(f"{name} .* running")
    project.save("two")
    dev.wait_for("ready: 2 handlers")
    assert project.say() == '"two"'
    assert project.commands("jobs", "watch", name, expect=0).out == '"one"\n'
    assert dev.end(signal.SIGINT) == 0


def test_what_runs_too_long_is_handed_back_and_ends_with_the_new_code(
    project: Project, dev: Running
) -> None:
    name = project.commands("submit", "long", "seconds:=6", expect=0).out.strip()
    dev.wait_for(f"{name} .* running")
    project.save("two")
    dev.wait_for("ready: 2 handlers")
    assert project.commands("jobs", "watch", name, expect=0).out == '"two"\n'
    job = project.commands("jobs", "get", name, "-o", "json", expect=0).json()
    assert [item["state"] for item in job["attempts"]] == ["released", "succeeded"]
    assert job["tries"] == 1
    assert dev.end(signal.SIGINT) == 0


class Terminal:
    """`mainspring dev` on a terminal of its own, with somebody who types."""

    def __init__(self, project: Project) -> None:
        self.outer, inner = pty.openpty()
        self.process = subprocess.Popen(
            [sys.executable, "-c", RUN, sys.executable, "-m", "mainspring", "dev"],
            cwd=project.commands.folder,
            env=environment() | {"TERM": "xterm"},
            stdin=inner,
            stdout=inner,
            stderr=inner,
            start_new_session=True,
        )
        os.close(inner)
        self.seen = ""
        self.news = threading.Condition()
        self.reader = threading.Thread(target=self.read, daemon=True)
        self.reader.start()

    def read(self) -> None:
        while True:
            try:
                found = os.read(self.outer, 4096)
            except OSError:
                found = b""
            with self.news:
                self.seen += re.sub(r"\x1b\[\d*m", "", found.decode())
                self.news.notify_all()
            if not found:
                return

    def wait_for(self, words: str) -> None:
        with self.news:
            assert self.news.wait_for(lambda: words in self.seen, PATIENCE_SECONDS), self.seen
            self.seen = self.seen.partition(words)[2]

    def type(self, key: str) -> None:
        os.write(self.outer, key.encode())

    def close(self) -> None:
        if self.process.poll() is None:
            self.process.kill()
        self.process.wait(PATIENCE_SECONDS)
        self.reader.join(PATIENCE_SECONDS)
        os.close(self.outer)


#: Takes the terminal for its own, as a shell does, before it becomes the command.
RUN = """
import fcntl, os, sys, termios
fcntl.ioctl(0, termios.TIOCSCTTY, 0)
os.execv(sys.argv[1], sys.argv[1:])
"""


@pytest.fixture
def terminal(project: Project) -> Iterator[Terminal]:
    found = Terminal(project)
    yield found
    found.close()


def test_keys_pause_and_resume_and_quit(project: Project, terminal: Terminal) -> None:
    terminal.wait_for("(p) pause  (q) quit")
    terminal.wait_for("ready; in a second terminal")
    terminal.type("p")
    terminal.wait_for("paused: nothing more of default is started")
    name = project.commands("submit", "word", expect=0).out.strip()
    why = project.commands("jobs", "explain", name, expect=0).out
    assert "its queue default is paused (paused in mainspring dev)" in why
    terminal.type("P")
    terminal.wait_for("goes on: default")
    assert project.commands("jobs", "watch", name, expect=0).out == '"one"\n'
    terminal.type("p")
    terminal.wait_for("paused:")
    terminal.type("q")
    terminal.wait_for("nothing is lost")
    assert terminal.process.wait(PATIENCE_SECONDS) == 0
    queues = project.commands("queues", "ls", "-o", "json", expect=0).json()
    assert not any(row["paused"] for row in queues)


def test_a_pause_that_a_killed_dev_left_behind_is_undone(
    project: Project, terminal: Terminal
) -> None:
    terminal.wait_for("ready; in a second terminal")
    terminal.type("p")
    terminal.wait_for("paused:")
    terminal.process.kill()
    terminal.process.wait(PATIENCE_SECONDS)
    dev = project.commands.start("dev")
    try:
        dev.wait_for("ready; in a second terminal")
        assert project.say() == '"one"'
        assert dev.end(signal.SIGINT) == 0
    finally:
        dev.kill()


def test_what_was_compiled_of_a_save_is_dropped(tmp_path: Path) -> None:
    source = tmp_path / "a.py"
    source.write_text("word = 1")
    compiled = Path(py_compile.compile(str(source), doraise=True) or "")
    saves = Saves(tmp_path)
    saves.forget_compiled(["a.py", "never.py"])
    assert not compiled.exists()


def test_only_python_files_of_the_project_count(tmp_path: Path) -> None:
    for name in ("a.py", "b/c.py", "b/d.txt", ".venv/e.py", "node_modules/f.py"):
        path = tmp_path / name
        path.parent.mkdir(exist_ok=True)
        path.write_text("1")
    saves = Saves(tmp_path)
    assert saves.changed() == []
    for name in ("a.py", "b/c.py", "b/d.txt", ".venv/e.py", "node_modules/f.py", "new.py"):
        (tmp_path / name).write_text("22")
    assert saves.changed() == ["a.py", "b/c.py", "new.py"]
    (tmp_path / "a.py").unlink()
    assert saves.changed() == ["a.py"]
    assert saves.changed() == []
