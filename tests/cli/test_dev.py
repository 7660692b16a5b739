"""`mainspring dev`: one command from nothing to a tour, and an orderly end."""

import contextlib
import fcntl
import os
import re
import signal
import struct
import subprocess
import sys
import termios
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.cli.conftest import Commands, Running, environment

pytestmark = [pytest.mark.slow, pytest.mark.timeout(180)]


def test_the_tour_shows_every_end_of_a_job(tmp_path: Path) -> None:
    commands = Commands(tmp_path)
    done = commands("dev", "--tour", "--exit", expect=0)
    assert done.err == ""
    for words in (
        r'greet +succeeded  .*"Hello, Ada"',
        r'error: add: "three" is not of type "integer" at /b  \[invalid_payload\]',
        r"flaky +attempt 2/5 failed: ConnectionError: the bank is down",
        r'flaky +succeeded  .*"paid on try 3"',
        r"doomed +attempt 3/3 failed: ValueError: order 13 has no address   -> dead letter",
        r'doomed +succeeded  .*"order 13 sent"',
        r"slow +cancelled",
        r"crunch +succeeded",
        r"mainspring submit greet name=You --wait",
        r"stopped; nothing is lost",
    ):
        assert re.search(words, done.out), (words, done.out)
    assert (tmp_path / ".mainspring" / ".gitignore").read_text() == "*\n"
    states = [job["state"] for job in commands("jobs", "ls", "-o", "json", expect=0).json()]
    assert sorted(states) == ["cancelled", *["succeeded"] * 5]
    assert commands("workers", "ls", "-o", "json", expect=0).json()[0]["state"] == "gone"


def on_a_terminal(folder: Path, columns: int, *words: str) -> str:
    """What a command prints on a terminal of this width, without its colours."""
    ours, theirs = os.openpty()
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 40, columns, 0, 0))
    command = [sys.executable, "-m", "mainspring", *words]
    with subprocess.Popen(
        command, cwd=folder, env=environment(), stdin=theirs, stdout=theirs, stderr=theirs
    ) as running:
        os.close(theirs)
        said = b""
        # Linux tells of the other end's close by an error.
        with contextlib.suppress(OSError):
            while part := os.read(ours, 65_536):
                said += part
        os.close(ours)
    assert running.returncode == 0, said
    return re.sub(r"\x1b\[[0-9;]*m", "", said.decode()).replace("\r\n", "\n")


@pytest.mark.parametrize(
    ("columns", "why"),
    [
        (
            80,
            r"doomed +attempt 3/3 failed\n {9}ValueError: order 13 has no addr.*   -> dead letter",
        ),
        (130, r"doomed +attempt 3/3 failed: ValueError: order 13.*   -> dead letter"),
    ],
)
def test_the_tour_fits_the_terminal(tmp_path: Path, columns: int, why: str) -> None:
    told = on_a_terminal(tmp_path, columns, "dev", "--tour", "--exit")
    assert re.search(why, told), told
    # Commands are whole, however long: they are there to be copied.
    log = re.findall(r"^(?:\d\d:\d\d:\d\d | {9}| worker ).*", told, re.MULTILINE)
    assert len(log) >= 14
    assert [line for line in log if len(line) > columns] == []


def test_ctrl_c_lets_running_jobs_finish(
    start: Callable[..., Running], mainspring: Commands
) -> None:
    dev = start("dev")
    dev.wait_for("ready; in a second terminal")
    name = mainspring("submit", "slow", "steps:=5", expect=0).out.strip()
    dev.wait_for(f"{name}  slow +running")
    dev.send(signal.SIGINT)
    dev.wait_for("stopping: what runs may finish")
    dev.wait_for(f'{name}  slow +succeeded .*"5 pages"')
    assert dev.end() == 0
    assert "Traceback" not in dev.text


def test_a_second_ctrl_c_hands_back_and_the_next_dev_goes_on(
    start: Callable[..., Running], mainspring: Commands
) -> None:
    dev = start("dev")
    dev.wait_for("ready; in a second terminal")
    name = mainspring("submit", "slow", "steps:=40", expect=0).out.strip()
    dev.wait_for(f"{name}  slow +running")
    dev.send(signal.SIGINT)
    dev.wait_for("stopping: what runs may finish")
    assert dev.end(signal.SIGINT) == 0
    job = mainspring("jobs", "get", name, "-o", "json", expect=0).json()
    assert (job["state"], job["tries"]) == ("ready", 0)
    assert [item["state"] for item in job["attempts"]] == ["released"]
    mainspring("jobs", "cancel", name, expect=0)


def test_an_app_that_stops_the_import_is_told_before_anything_starts(
    mainspring: Commands,
) -> None:
    (mainspring.folder / "late.py").write_text("raise RuntimeError('no')\n")
    done = mainspring("dev", "late:app")
    assert (done.code, done.error_code) == (2, "app_not_loaded")
    assert "RuntimeError: no" in done.err


def test_dev_uses_the_queues_of_the_app(
    start: Callable[..., Running], mainspring: Commands
) -> None:
    (mainspring.folder / "shop.py").write_text(
        "from mainspring import App\napp = App('shop')\n\n\n"
        "@app.job(queue='mail')\ndef send() -> str:\n    return 'sent'\n"
    )
    dev = start("dev", "shop")
    dev.wait_for("worker dev: shop, 1 handler .*reload on")
    dev.wait_for("ready; in a second terminal")
    assert mainspring("submit", "send", "--wait", expect=0).out.endswith('"sent"\n')
    queues = mainspring("workers", "ls", "-o", "json", expect=0).json()[0]["queues"]
    assert queues == {"mail": 8}
    assert dev.end(signal.SIGTERM) == 0


def test_dev_fires_what_the_app_declares_and_takes_up_its_edits(
    start: Callable[..., Running], mainspring: Commands
) -> None:
    file = mainspring.folder / "shop.py"
    text = (
        "from mainspring import App\napp = App('shop')\n\n\n"
        "@app.schedule('beat', '* * * * * *')\n@app.job()\ndef beat() -> str:\n    return 'tick'\n"
    )
    file.write_text(text)
    dev = start("dev", "shop")
    dev.wait_for("schedule beat: every second, UTC")
    dev.wait_for("beat .* succeeded .*tick")
    file.write_text(text.replace("* * * * * *", "*/2 * * * * *").replace("'beat'", "'pulse'"))
    dev.wait_for("shop.py saved: reloading")
    told = sorted(dev.wait_for("  schedule ").partition("  schedule ")[2] for _ in range(2))
    assert told == ["beat was removed", "pulse is new"]
    dev.wait_for("beat .* succeeded .*tick")
    file.write_text(text.replace("* * * * * *", "61 * * * *"))
    dev.wait_for("error: .*61")
    assert dev.end(signal.SIGTERM) == 0
