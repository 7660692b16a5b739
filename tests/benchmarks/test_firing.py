"""The harnesses about schedules run with tiny numbers; how fast that was is not looked at."""

import json
from pathlib import Path

import pytest

from benchmarks import crowd, firing

pytestmark = [pytest.mark.postgres, pytest.mark.slow]


def test_due_to_started_is_measured(tmp_path: Path, postgres_18: object) -> None:
    path = tmp_path / "firing.json"
    words = ["--rates", "3", "--period", "1", "--seconds", "2", "--settle", "2", "--slots", "4"]
    words += ["--overlap", "allow", "--burst", "only", "--postgres", "18", "--out", str(path)]
    assert firing.main(words) == 0
    (found,) = json.loads(path.read_text())["firing"]
    assert found["schedules"] == 3
    assert found["started"]["jobs"] >= 6
    assert found["beats"] >= 1


def test_a_crowd_of_schedulers_is_counted(tmp_path: Path, postgres_18: object) -> None:
    path = tmp_path / "crowd.json"
    words = ["--counts", "1,3", "--seconds", "1", "--settle", "1", "--postgres", "18"]
    assert crowd.main([*words, "--out", str(path)]) == 0
    alone, three = json.loads(path.read_text())["crowds"]
    assert (alone["schedulers"], three["schedulers"]) == (1, 3)
    assert alone["questions_per_second"]["judge_due"] > 0
