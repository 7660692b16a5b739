"""Workers that run calls and programs, with an app and without one."""

import signal
from collections.abc import Callable, Iterator

import pytest

from tests.cli.conftest import Commands, Running, until_declared
from tests.kinds.conftest import Reply, Web

pytestmark = [pytest.mark.slow, pytest.mark.timeout(180)]


@pytest.fixture(name="web")
def web_server() -> Iterator[Web]:
    server = Web()
    yield server
    server.close()


def test_without_an_app_a_worker_calls_and_runs(
    start: Callable[..., Running], mainspring: Commands, web: Web
) -> None:
    web.replies = [Reply(200, b"paid")]
    worker = start("worker", "start", "--http", "--http-reach", "127.0.0.1", "--command", "echo")
    worker.wait_for("worker mainspring: 2 handlers, queue default:8")
    until_declared(mainspring, "http")
    called = mainspring("submit", "http", f"url={web.url()}", "json:={}", "--wait", expect=0)
    assert '"body":"paid"' in called.out
    ran = mainspring("submit", "command", 'argv:=["echo","a  b"]', "--wait", expect=0)
    assert r'"stdout":"a  b\n"' in ran.out
    refused = mainspring("submit", "command", 'argv:=["sh"]', "--wait", expect=5)
    assert "not among the programs of this worker: echo" in refused.err
    assert worker.end(signal.SIGTERM) == 0


def test_they_stand_beside_the_handlers_of_an_app(
    start: Callable[..., Running], mainspring: Commands
) -> None:
    worker = start("worker", "start", "mainspring.cli.tour:app", "--command", "true")
    worker.wait_for("worker mainspring.cli.tour: 7 handlers")
    until_declared(mainspring, "command")
    mainspring("submit", "command", 'argv:=["true"]', "--wait", expect=0)
    mainspring("submit", "greet", "--wait", expect=0)
    assert worker.end(signal.SIGTERM) == 0


@pytest.mark.parametrize(
    ("words", "error"),
    [
        (["--http-reach", "10.0.0.0/8"], "this worker makes no calls"),
        (["--http", "--http-reach", "a b"], "neither a network nor the name of a host"),
        (["--http", "--http-reach", "10.0.0.1/8"], "neither a network"),
        (["--command", "no-such-program"], "there is no program 'no-such-program'"),
        (["--command", "./here"], "there is no program"),
        (["clash:app", "--http"], "has a handler of the kind 'http' itself"),
    ],
)
def test_bad_words_are_told_before_anything_starts(
    mainspring: Commands, words: list[str], error: str
) -> None:
    (mainspring.folder / "clash.py").write_text(
        "from mainspring import App\napp = App('clash')\n\n\n@app.job()\ndef http() -> None: ...\n"
    )
    mainspring("db", "migrate", expect=0)
    done = mainspring("worker", "start", *words, expect=2)
    assert error in done.err


def test_without_an_app_and_without_a_kind_it_asks_which(mainspring: Commands) -> None:
    assert "which app?" in mainspring("worker", "start", expect=2).err
