"""A worker beside a server process: shared, taken over, drained, and described wrongly."""

import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from mainspring import App, Client, connect_sync
from mainspring.domain.errors import (
    AppNotLoaded,
    InvalidInput,
    MainspringError,
    StoreNotMigrated,
    UnknownOption,
)
from mainspring.runtime.embedding import reference_of
from mainspring.testing.servers.waiting import wait_until

SHOP = """
import os
from mainspring import App

app = App("shop")

@app.job()
def where() -> int:
    return os.getppid()
"""
PATIENCE_SECONDS = 20.0


class Servers:
    """Programs that embed the same app in one folder."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.store = f"sqlite:///{folder / 'shop.db'}"
        self.running: list[subprocess.Popen[bytes]] = []
        (folder / "shop.py").write_text(SHOP)

    def start(self, *, shared: bool = True) -> subprocess.Popen[bytes]:
        program = (
            "import sys\nfrom shop import app\n"
            f"with app.embedded_sync({self.store!r}, shared={shared}, drain='2s'):\n"
            "    print('up', flush=True)\n"
            "    sys.stdin.read()\n"
        )
        server = subprocess.Popen(
            [sys.executable, "-c", program],
            cwd=self.folder,
            env=os.environ | {"TMPDIR": str(self.folder)},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
        )
        self.running.append(server)
        assert server.stdout is not None
        assert server.stdout.readline() == b"up\n"
        return server

    def alive(self, client: Client) -> set[bytes]:
        return {worker.id for worker in client.workers.list() if worker.state == "alive"}

    def end(self) -> None:
        for server in self.running:
            if server.poll() is None:
                server.kill()
            server.wait()
            for pipe in (server.stdin, server.stdout):
                assert pipe is not None
                pipe.close()


@pytest.fixture
def servers(tmp_path: Path) -> Iterator[Servers]:
    found = Servers(tmp_path)
    yield found
    found.end()


def _wait(is_true: Callable[[], bool], what: str) -> None:
    assert wait_until(is_true, seconds_max=PATIENCE_SECONDS), what


def test_servers_of_one_machine_share_a_worker_and_the_next_one_takes_over(
    servers: Servers,
) -> None:
    first = servers.start()
    with connect_sync(servers.store) as client:
        _wait(lambda: len(servers.alive(client)) == 1, "the first server's worker")
        (worker,) = servers.alive(client)
        second = servers.start()
        assert client.submit("where").result(timeout="20s")
        assert servers.alive(client) == {worker}

        first.send_signal(signal.SIGKILL)
        first.wait()
        _wait(lambda: bool(servers.alive(client) - {worker}), "the second server's worker")
        assert client.submit("where").result(timeout="20s")

        assert second.stdin is not None
        second.stdin.close()
        assert second.wait(PATIENCE_SECONDS) == 0
        _wait(lambda: not servers.alive(client), "the end of all workers")


def test_a_worker_that_is_killed_is_started_again(servers: Servers) -> None:
    servers.start()
    with connect_sync(servers.store) as client:
        _wait(lambda: bool(servers.alive(client)), "a worker")
        (worker,) = client.workers.list()
        os.kill(worker.pid, signal.SIGKILL)
        _wait(lambda: bool(servers.alive(client) - {worker.id}), "its successor")
        assert client.submit("where").result(timeout="20s")


def test_each_server_may_have_a_worker_of_its_own(servers: Servers) -> None:
    servers.start(shared=False)
    servers.start(shared=False)
    with connect_sync(servers.store) as client:
        _wait(lambda: len(servers.alive(client)) == 2, "two workers")


# --- Bad input --------------------------------------------------------------------------------

elsewhere = App("elsewhere")


@elsewhere.job()
def nothing() -> None: ...


@pytest.mark.parametrize(
    ("options", "error", "words"),
    [
        ({"slot": 3}, UnknownOption, "slots"),
        ({"slots": 0}, InvalidInput, "slots"),
        ({"processes": 0}, InvalidInput, "processes"),
        ({"queues": {"no spaces": 1}}, InvalidInput, "queues"),
        ({"queues": "mail:8"}, InvalidInput, "queues: 'mail:8' is no mapping"),
        ({"queues": {}}, InvalidInput, "queues: {} is no mapping"),
        ({"reference": 5}, InvalidInput, "reference: 5 is no text"),
        ({"reference": "no_such_module:app"}, AppNotLoaded, "no module for 'no_such_module:app'"),
        ({"reference": "tests.no_such:app"}, AppNotLoaded, "no module for 'tests.no_such:app'"),
        ({"reference": ""}, AppNotLoaded, "no module for ''"),
        ({"shared": "no"}, InvalidInput, "shared: 'no' is neither"),
        ({"migrate": 1}, InvalidInput, "migrate: 1 is neither"),
        ({"queues": {"mail": 0}}, InvalidInput, "slots of mail"),
        ({"drain": "soon"}, InvalidInput, "drain"),
        ({"migrate": False}, StoreNotMigrated, "no store at"),
    ],
)
def test_what_cannot_be_embedded_is_refused_before_anything_starts(
    tmp_path: Path, options: dict[str, Any], error: type[MainspringError], words: str
) -> None:
    url = f"sqlite:///{tmp_path / 'none.db'}"
    with pytest.raises(error) as caught, elsewhere.embedded_sync(url, **options):
        pytest.fail("it was embedded")
    assert words in f"{caught.value.message} {caught.value.hint}"
    assert not (tmp_path / "none.db").exists()


def test_an_app_is_found_where_it_can_be_imported() -> None:
    assert reference_of(elsewhere) == f"{__name__}:elsewhere"
    with pytest.raises(AppNotLoaded, match="no module that another process can import"):
        reference_of(App("nowhere"))


def test_every_embedded_worker_fires_schedules_and_nothing_fires_twice(servers: Servers) -> None:
    for _ in range(2):
        servers.start(shared=False)
    with connect_sync(servers.store) as client:
        _wait(lambda: bool(client.handlers.list()), "a worker declares its handlers")
        client.schedules.create("beat", "* * * * * *", "where")

        def ended() -> int:
            rows = client.schedules.history("beat", limit=50)
            return sum(row.job_state == "succeeded" for row in rows)

        _wait(lambda: ended() >= 3, "three fires have run")
        found = client.schedules.audit("beat").audited
        assert (found.gaps, found.doubles, found.unexpected) == (0, 0, 0)
