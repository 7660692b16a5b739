"""The harness runs with tiny numbers; how fast that was is not looked at."""

import asyncio
from pathlib import Path
from typing import Any

import pytest

from benchmarks import results
from benchmarks.__main__ import main
from benchmarks.figures import Cost, pickup_of, spread
from benchmarks.floor import Floor
from benchmarks.floor.on_postgres import PostgresFloor
from benchmarks.floor.on_sqlite import SqliteFloor
from tests.conftest import MakeDatabase

TINY = ["--rounds", "1", "--jobs", "30", "--bulk", "20", "--slots", "8", "--processes", "1"]
TINY += ["--pickups-per-second", "100", "--pickup-seconds", "0.1"]


def test_measures_a_store_and_shows_the_result(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "result.json"
    assert main([*TINY, "--stores", "sqlite", "--out", str(path)]) == 0
    result = results.read(path)
    figures = result["figures"]["sqlite"]
    assert figures["pickup"]["jobs_a_round"] == 10
    for name in ("bulk_insert", "drain"):
        ratio = figures[name]["ratio"]["median"]
        rates = [figures[name][side]["jobs_per_second"]["median"] for side in ("product", "floor")]
        assert ratio == pytest.approx(rates[0] / rates[1], rel=0.01, abs=0.001)
    shown = capsys.readouterr().out
    assert "| SQLite | drain |" in shown
    assert "| SQLite, product |" in shown


@pytest.mark.postgres
def test_measures_postgres(tmp_path: Path, postgres_18: object) -> None:
    path = tmp_path / "result.json"
    words = [*TINY, "--stores", "postgres", "--postgres", "18", "--out", str(path)]
    assert main(words) == 0
    figures = results.read(path)["figures"]["postgres"]
    assert {"worker_cpu_us", "server_cpu_us"} < figures["drain"]["product"].keys()
    assert figures["pickup"]["floor"].keys() < figures["pickup"]["product"].keys()


@pytest.mark.postgres
def test_floor_drains_what_it_inserted_on_postgres(database: MakeDatabase) -> None:
    assert asyncio.run(_through(PostgresFloor(database()))) == 1_203


def test_floor_drains_what_it_inserted_on_sqlite(tmp_path: Path) -> None:
    assert asyncio.run(_through(SqliteFloor(tmp_path / "floor.db"))) == 1_203


async def _through(floor: Floor) -> int:
    await floor.open()
    await floor.insert(1_203)
    drained = await floor.drain()
    assert await floor.drain() == 0
    await floor.close()
    return drained


def test_result_names_no_machine_and_no_path() -> None:
    for path in results.FOLDER.glob("*.json"):
        result = results.read(path)
        assert set(result["machine"]) == FACTS
        assert "/" not in path.read_text().replace("wal_size", "")


FACTS = {"processor", "cores", "memory_gb", "system", "load_before", "python", "sqlite"}
FACTS |= {"asyncpg", "msgspec", "uvloop"}


def test_readme_shows_the_newest_result() -> None:
    text = results.README.read_text(encoding="utf-8")
    assert results.readme_with(results.newest(), text) == text


def test_percentiles_and_spread() -> None:
    found = pickup_of([index / 1_000 for index in range(1, 101)], Cost())
    shown: dict[str, Any] = {"jobs": found.jobs, "p50": found.p50_ms, "p99": found.p99_ms}
    assert shown == pytest.approx({"jobs": 100, "p50": 51.0, "p99": 100.0})
    assert found.max_ms == pytest.approx(100.0)
    assert spread([3.0, 1.0, 2.0]).median == 2.0
