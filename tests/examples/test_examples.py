"""Every example does what its page says, on SQLite and, where it says so, on PostgreSQL."""

import os
import re
import signal
import subprocess
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path

import httpx
import pytest

from mainspring import connect_sync
from mainspring.testing.servers.free_ports import free_ports
from mainspring.testing.servers.waiting import wait_until
from tests.examples.conftest import Example

pytestmark = [pytest.mark.slow]
Copy = Callable[[str], Example]
ORDERS_END = [
    "order 1 (good): paid",
    "order 2 (slow bank): paid",
    "order 3 (declined): given up: card declined",
]
SERVERS = 8


@pytest.fixture(params=["sqlite", "postgres"])
def address(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    if request.param == "sqlite":
        return f"sqlite:///{tmp_path / 'shop.db'}"
    database: Callable[[], str] = request.getfixturevalue("database")
    return database()


def test_orders_and_payments_are_whole(example: Copy, address: str) -> None:
    told = example("orders").run("demo.py", DATABASE_URL=address)
    assert told[0] == "rolled back, order and job: the customer closed the page"
    assert sorted(told[1:5]) == [
        "charge: dead after 1 tries",
        "charge: succeeded after 1 tries",
        "charge: succeeded after 3 tries",
        "give_up: succeeded after 1 tries",
    ]
    assert told[5:] == ORDERS_END


def test_a_django_project_submits_in_its_transactions(example: Copy, address: str) -> None:
    project = example("django_shop")
    project.run("manage.py", "makemigrations", "--check", "--dry-run", DATABASE_URL=address)
    project.run("manage.py", "migrate", DATABASE_URL=address)
    told = project.run("manage.py", "demo", DATABASE_URL=address)
    assert told == [
        "rolled back, order and job: the view failed",
        "Ada #1: packed",
        "Grace #2: packed",
        "orders of Nobody: 0",
    ]


def test_pictures_are_rendered_and_one_that_never_ends_harms_nobody(example: Copy) -> None:
    pictures = example("images")
    told = pictures.run("render.py")
    assert sorted(re.sub(r"[\d,]+ bytes", "n bytes", line) for line in told) == [
        "elephants: n bytes",
        "needle: n bytes",
        "seahorses: n bytes",
        "the one that never ends: TimedOut",
        "whole: n bytes",
    ]
    found = {path.name for path in (pictures.folder / "pictures").iterdir()}
    assert found == {"elephants.png", "needle.png", "seahorses.png", "whole.png"}
    assert (pictures.folder / "pictures" / "whole.png").read_bytes()[:4] == b"\x89PNG"


@contextmanager
def served(web: Example, store: str) -> Iterator[str]:
    (port,) = free_ports(1)
    words = ["-m", "uvicorn", "web:api", "--workers", str(SERVERS), "--port", str(port)]
    running = web.start(words, MAINSPRING_STORE=store)
    try:
        # A server says so when its lifespan has begun: connected, and with its worker.
        begun = "Application startup complete"
        is_up = wait_until(lambda: web.log.count(begun) == SERVERS, seconds_max=40)
        assert is_up, web.log
        yield f"http://127.0.0.1:{port}"
    finally:
        running.terminate()
        try:
            running.wait(25)
        except subprocess.TimeoutExpired:
            os.killpg(running.pid, signal.SIGKILL)
            raise


def test_eight_server_processes_run_each_report_once(example: Copy) -> None:
    web = example("web")
    store = f"sqlite:///{web.folder / 'web.db'}"
    with served(web, store) as address, ThreadPoolExecutor(8) as pool:

        def order(number: int) -> dict[str, object]:
            # A connection each: the system spreads them over the server processes.
            answer = httpx.post(
                f"{address}/reports",
                json={"customer": f"c{number % 10}", "pages": 2},
                headers={"Idempotency-Key": f"report-{number % 10}"},
                timeout=20,
            )
            assert answer.status_code == 202, answer.text
            return dict(answer.json())

        answers = list(pool.map(order, range(40)))
        jobs = {str(answer["job"]) for answer in answers}
        assert len(jobs) == 10
        assert sum(bool(answer["created"]) for answer in answers) == 10
        for job in sorted(jobs):
            text = httpx.get(f"{address}/reports/{job}/text", timeout=20).json()
            assert text.startswith("2 pages for c")
            told = httpx.get(f"{address}/reports/{job}", timeout=20).json()
            assert told["state"] == "succeeded"
        unknown = httpx.get(f"{address}/reports/job_x", timeout=20)
        assert (unknown.status_code, unknown.json()["detail"]["code"]) == (422, "invalid_id")
        with connect_sync(store) as client:
            workers = client.workers.list()
            assert [worker.state for worker in workers] == ["alive"]
            for job in jobs:
                assert len(client.jobs.attempts(job)) == 1
