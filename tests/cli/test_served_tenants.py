"""Commands against `mainspring server start`, as somebody whose key belongs to a tenant."""

import re
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import pytest

from mainspring.runtime.addresses import Address, listen
from tests.cli.conftest import Commands, Done, Running

pytestmark = [pytest.mark.slow, pytest.mark.timeout(180)]


class Served(NamedTuple):
    """A server, and commands in front of it."""

    here: Callable[..., Done]
    monkeypatch: pytest.MonkeyPatch
    folder: Path
    url: str
    #: Of the first start.
    admin: str

    def __call__(self, key: str, *words: str, expect: int | None = 0) -> Done:
        self.monkeypatch.setenv("MAINSPRING_STORE", self.url)
        self.monkeypatch.setenv("MAINSPRING_KEY", key)
        return self.here(*words, expect=expect)

    def rows(self, key: str, *words: str) -> list[dict[str, object]]:
        found: list[dict[str, object]] = self(key, *words, "-o", "json").json()
        return found

    def key_of(self, tenant: str, scopes: str) -> str:
        words = ("keys", "create", f"{tenant}-bot", "--tenant", tenant, "--scopes", scopes)
        return self(self.admin, *words, "-o", "name").out.strip()


@pytest.fixture
def served(
    start: Callable[..., Running],
    here: Callable[..., Done],
    mainspring: Commands,
    monkeypatch: pytest.MonkeyPatch,
) -> Served:
    # Whoever maintains starts a worker for deliveries, too, whose queue is listed sooner or later.
    words = ("--http", "127.0.0.1:0", "--grpc", "none", "--no-maintenance")
    server = start("server", "start", *words)
    # stdout and stderr come as they like; these are the last lines of each.
    for _ in range(2):
        server.wait_for(r"store: sqlite|export MAINSPRING_KEY")
    found = re.search(r"http://127\.0\.0\.1:\d+", server.text)
    key = re.search(r"^  (ms_live_\w+)$", server.text, re.MULTILINE)
    assert found
    assert key
    return Served(here, monkeypatch, mainspring.folder, found[0], key[1])


def test_who_names_no_tenant_means_the_one_of_the_key(served: Served) -> None:
    mine, theirs = served.key_of("acme", "admin"), served.key_of("zoo", "admin")
    # Jobs.
    assert served(mine, "submit", "greet", "--dry-run", "-o", "json").json()["tenant"] is None
    job = served(mine, "submit", "greet", "name=Ada").out.strip()
    assert [row["tenant"] for row in served.rows(mine, "jobs", "ls")] == ["acme"]
    assert served.rows(theirs, "jobs", "ls") == []
    assert served(theirs, "jobs", "get", job, expect=3).error_code == "not_found"
    served(served.admin, "submit", "greet")
    # Schedules.
    nightly = ("schedules", "create", "nightly", "greet", "--cron", "0 2 * * *")
    served(mine, *nightly, "--dry-run")
    served(mine, *nightly)
    assert served(mine, *nightly, "--dry-run", expect=6).error_code == "schedule_exists"
    assert [row["tenant"] for row in served.rows(mine, "schedules", "ls")] == ["acme"]
    for words in (
        ("get",), ("pause",), ("resume",), ("history",), ("next",), ("audit",), ("backfills",),
        ("skip-next",), ("trigger",), ("edit", "--cron", "0 3 * * *"),
    ):  # fmt: skip
        name, *rest = words
        served(mine, "schedules", name, "nightly", *rest)
        assert served(theirs, "schedules", name, "nightly", *rest, expect=3).out == ""
    file = served(mine, "schedules", "export").out
    assert "tenant: acme" in file
    (served.folder / "again.yaml").write_text(file)
    served(mine, "schedules", "apply", "again.yaml")
    (served.folder / "named.yaml").write_text(file.replace("tenant: acme", "note: mine"))
    served(mine, "schedules", "apply", "named.yaml")
    served(mine, "schedules", "rm", "nightly", "--yes")
    # Calendars.
    served(mine, "calendars", "create", "holidays", "12-25")
    served(mine, "calendars", "apply", "holidays", "12-26")
    assert [row["tenant"] for row in served.rows(mine, "calendars", "ls")] == ["acme"]
    served(mine, "calendars", "rm", "holidays", "--dry-run")
    assert served.rows(theirs, "calendars", "ls") == []
    # Webhooks.
    served(mine, "webhooks", "create", "https://example.org/hooks", "--event", "job.dead")
    assert [row["tenant"] for row in served.rows(mine, "webhooks", "ls")] == ["acme"]
    assert served.rows(theirs, "webhooks", "ls") == []
    # The rest of what there is to see.
    assert [row["name"] for row in served.rows(mine, "keys", "ls")] == ["acme-bot"]
    assert {row["tenant"] for row in served.rows(mine, "audit", "ls")} == {"acme"}
    assert [row["ready"] for row in served.rows(mine, "queues", "ls")] == [2]


def test_a_tenant_of_others_cannot_be_named(served: Served) -> None:
    mine = served.key_of("acme", "admin")
    for words in (
        ("submit", "greet"),
        ("schedules", "create", "nightly", "greet", "--every", "1h"),
        ("calendars", "ls"),
    ):
        done = served(mine, *words, "--tenant", "zoo", expect=None)
        assert done.error_code == "forbidden", done
        assert "leave the tenant out" in done.err
        served(mine, *words, "--tenant", "acme")


@pytest.mark.parametrize("door", ["http", "grpc"])
def test_a_taken_port_ends_the_server_in_words(mainspring: Commands, door: str) -> None:
    with listen(door, Address("127.0.0.1", 0)) as taken:
        place = f"127.0.0.1:{taken.getsockname()[1]}"
        doors = {"http": "127.0.0.1:0", "grpc": "127.0.0.1:0"} | {door: place}
        words = [part for name, at in doors.items() for part in (f"--{name}", at)]
        done = mainspring.cold("server", "start", *words)
    assert done.code == 2, done
    assert f"error: {door}: {place} cannot be opened" in done.err
    assert f"--{door}" in done.err
    # Nobody was told of a key, so there is none.
    assert mainspring("keys", "ls", "--ended", "-o", "json", expect=0).json() == []


def test_the_address_may_be_given_as_the_server_shows_it(served: Served) -> None:
    shown = served._replace(url=f"{served.url}/api/v1/")
    shown(served.admin, "submit", "greet")
    assert len(shown.rows(served.admin, "jobs", "ls")) == 1
