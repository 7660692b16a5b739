"""The harness of remote workers runs with tiny numbers; how fast that was is not looked at."""

import json
from pathlib import Path

import pytest

from benchmarks import remote

pytestmark = [pytest.mark.postgres, pytest.mark.slow]


def test_all_three_ways_are_measured(tmp_path: Path, postgres_18: object) -> None:
    path = tmp_path / "remote.json"
    words = ["--jobs", "200", "--rounds", "1", "--slots", "50", "--postgres", "18"]
    assert remote.main([*words, "--out", str(path)]) == 0
    found = json.loads(path.read_text())["jobs_per_second"]
    assert set(found) == {"connection", "worker", "local"}
    assert all(rates[0] > 0 for rates in found.values())
