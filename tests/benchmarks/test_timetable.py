"""The harness of next fires runs with tiny numbers; how fast that was is not looked at."""

from datetime import datetime
from pathlib import Path
from zoneinfo import ZoneInfo

import pytest
from cronsim import CronSim

from benchmarks import results, timetable
from benchmarks.machine import facts
from mainspring.timetable.cron import cron
from mainspring.timetable.definition import simple_timetable

TINY = ["--rounds", "1", "--walked", "2", "--parsed", "20", "--schedules", "200"]


def test_measures_three_libraries_and_shows_the_result(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "result.json"
    assert timetable.main([*TINY, "--out", str(path)]) == 0
    figures = results.read(path)["figures"]
    assert {"mainspring", "cronsim", "croniter"} <= figures["kept"].keys()
    assert {"mainspring", "cronsim", "croniter"} == figures["parsed"].keys()
    assert len(figures["far_away"]) == len(timetable.FAR_AWAY)
    assert len(figures["hostile"]) == len(timetable.HOSTILE)
    assert 1 < figures["million"]["distinct"] <= 200
    assert "| with parsing: croniter |" in capsys.readouterr().out


def test_what_is_measured_side_by_side_is_the_same_work() -> None:
    begin = 1_767_225_600  # 2026-01-01, far from clock changes
    for text in timetable.EXPRESSIONS:
        for name in timetable.ZONES:
            theirs = next(CronSim(text, datetime.fromtimestamp(begin, ZoneInfo(name))))
            assert simple_timetable(text, name).next_at(begin) == int(theirs.timestamp())


def test_expressions_are_varied_and_can_be_read() -> None:
    found = timetable.varied(2_000)
    assert found == timetable.varied(2_000)
    assert len(set(found)) > 1_000
    assert all(cron(text) for text in found)


def test_a_text_that_is_taken_is_no_hostile_one() -> None:
    with pytest.raises(AssertionError, match="was taken"):
        timetable.refused("0 9 * * *")


def test_published_results_name_no_machine_and_meet_the_targets() -> None:
    paths = list(timetable.FOLDER.glob("*.json"))
    assert paths
    for path in paths:
        result = results.read(path)
        assert result["machine"].keys() == facts().keys()
        figures, targets = result["figures"], result["targets"]
        for name in ("kept", "parsed"):
            assert figures[name]["mainspring"]["per_second"] >= targets[f"{name}_per_second"]
        assert figures["far_away"][0]["best_us"] <= targets["far_away_us"]
        assert figures["hostile"][0]["best_us"] <= targets["hostile_us"]
        assert figures["million"]["best_seconds"] <= targets["million_seconds"]


def test_readme_shows_the_newest_result() -> None:
    text = results.README.read_text(encoding="utf-8")
    newest = results.read(max(timetable.FOLDER.glob("*.json")))
    assert timetable.readme_with(newest, text) == text
