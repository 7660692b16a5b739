"""The commands of the README and of the guide to workers are typed, as a newcomer types them."""

import re
import shlex
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.cli.conftest import ROOT, Commands, Running, environment
from tests.conftest import MakeDatabase

pytestmark = [pytest.mark.slow, pytest.mark.timeout(180)]
BLOCK = re.compile(r"^```(sh|python)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
SHOP = """
from mainspring import App

app = App("shop")


@app.job(queue="mail")
def send() -> None: ...
"""


def blocks(page: str, language: str) -> list[str]:
    """What a page has in this language, in its order."""
    text = (ROOT / page).read_text(encoding="utf-8")
    return [body for name, body in BLOCK.findall(text) if name == language]


def words_of(block: str) -> list[list[str]]:
    """The commands of a block, each as the words that follow the program's name."""
    lines = [shlex.split(line, comments=True) for line in block.splitlines()]
    return [line[1:] for line in lines if line and line[0].endswith("mainspring")]


class Project:
    """A folder with commands and everything that was started in it."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.type = Commands(folder)
        self.running: list[Running] = []

    def start(self, words: list[str], told: str, **env: str) -> Running:
        """Start a command that goes on, and wait until it says this."""
        self.running.append(self.type.start(*words, env=env))
        self.running[-1].wait_for(told)
        return self.running[-1]

    def python(self, text: str, **env: str) -> str:
        """Run a program in the folder, and return what it prints."""
        done = subprocess.run(
            [sys.executable, "-c", text],
            cwd=self.folder,
            env=environment() | {"PYTHONPATH": f"{ROOT}:{self.folder}"} | env,
            capture_output=True,
            text=True,
            timeout=40,
            check=False,
        )
        assert done.returncode == 0, done.stderr
        return done.stdout


@pytest.fixture
def project(tmp_path: Path) -> Iterator[Project]:
    made = Project(tmp_path)
    yield made
    for running in made.running:
        running.kill()


def test_the_first_job(project: Project) -> None:
    declared, submitted = blocks("README.md", "python")
    (project.folder / "app.py").write_text(declared)
    dev, submit = words_of(blocks("README.md", "sh")[1])
    running = project.start(dev, "ready; in a second terminal")
    done = project.type(*submit, expect=0)
    assert done.out.splitlines()[1:] == ['"sent 1 to ada@example.org"']
    assert project.python(submitted) == "sent 2 to ada@example.org\n"
    assert running.end(signal.SIGINT) == 0


@pytest.mark.postgres
def test_on_postgresql(project: Project, database: MakeDatabase) -> None:
    declared, submitted = blocks("README.md", "python")
    (project.folder / "app.py").write_text(declared)
    migrate, work = words_of(blocks("README.md", "sh")[-1])
    store = {"MAINSPRING_STORE": database()}
    project.type(*migrate, env=store, expect=0)
    running = project.start(work, r"worker app: 1 handler, queue mail:16, 2 processes", **store)
    assert project.python(submitted, **store) == "sent 2 to ada@example.org\n"
    assert running.end(signal.SIGTERM) == 0


@pytest.mark.parametrize(("page", "first"), [("README.md", 2), ("docs/start/service.md", 0)])
def test_as_a_service(project: Project, page: str, first: int) -> None:
    declared = blocks("README.md" if first else "docs/start/first-job.md", "python")[0]
    (project.folder / "app.py").write_text(declared)
    begin, works, *rest = [
        block for block in blocks(page, "sh")[first:] if "postgresql" not in block
    ]
    migrate, serve = words_of(begin)
    project.type(*migrate, expect=0)
    # The ports of the page may be taken on this machine: it chooses others.
    anywhere = dict.fromkeys(("MAINSPRING_HTTP", "MAINSPRING_GRPC"), "127.0.0.1:0")
    server = project.start(serve, "store: sqlite|export MAINSPRING_KEY", **anywhere)
    server.wait_for("store: sqlite|export MAINSPRING_KEY")
    key = re.search(r"^  (ms_live_\w+)$", server.text, re.MULTILINE)
    rest_at = re.search(r"REST at http://(127\.0\.0\.1:\d+)/api/v1", server.text)
    grpc_at = re.search(r"gRPC at (127\.0\.0\.1:\d+)", server.text)
    assert key
    assert rest_at
    assert grpc_at

    def as_here(block: str) -> str:
        block = block.replace("127.0.0.1:8470", rest_at[1]).replace("127.0.0.1:8471", grpc_at[1])
        return block.replace("ms_live_...", key[1])

    (work,) = words_of(as_here(works))
    worker = project.start(work, "worker app: 1 handler", MAINSPRING_KEY=key[1])
    # A job of a kind is refused until a worker has declared it.
    assert any(project.type("handlers", "ls", "-o", "name").out for _ in range(100))
    program = f'mainspring() {{ {shlex.quote(sys.executable)} -m mainspring "$@"; }}\n'
    script = as_here("".join(rest)).replace(".venv/bin/mainspring", "mainspring")
    done = subprocess.run(
        ["bash", "-e", "-c", program + script],
        cwd=project.folder,
        env=environment() | {"MAINSPRING_KEY": key[1]},
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert '"created":true' in done.stdout
    assert re.search(r'^"(sent 1 to ada@example.org|Welcome, Ada)"$', done.stdout, re.MULTILINE)
    assert worker.end(signal.SIGTERM) == 0
    assert server.end(signal.SIGTERM) == 0


def test_the_guide_to_workers(project: Project) -> None:
    (project.folder / "shop.py").write_text(SHOP)
    migrate, work = words_of(blocks("docs/guides/workers.md", "sh")[0])
    project.type(*migrate, expect=0)
    told = r"worker shop: 1 handler, queues mail:16, images:2, 2 processes"
    running = project.start(work, told)
    assert running.end(signal.SIGTERM) == 0
