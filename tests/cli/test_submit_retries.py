"""How often, how long apart, and what then: said for one submission."""

import json
from pathlib import Path

from tests.cli.conftest import Commands


def test_retries_of_one_submission_are_shown_before_they_are_stored(dev: Commands) -> None:
    words = ("--max-crashes", "2", "--backoff", "2s,3,1m,full", "--on-exhausted", "greet")
    look = dev("submit", "greet", "name=Ada", *words, "--dry-run", "-o", "json", expect=0)
    shown = json.loads(look.out)
    assert (shown["max_crashes"], shown["on_exhausted"]) == (2, "greet")
    assert shown["backoff"] == {
        "initial_ms": 2_000,
        "factor": 3.0,
        "cap_ms": 60_000,
        "jitter": 1.0,
        "full_jitter": True,
    }


def test_a_backoff_that_cannot_be_read_is_refused(tmp_path: Path, dev: Commands) -> None:
    for given, words in (
        ("2s,3,1m,0.1,5", "5 parts"),
        ("2s,many", "cannot be read"),
        ("soon", "soon"),
        ("2s,0", "factor"),
    ):
        done = dev("submit", "greet", "name=Ada", "--backoff", given, expect=2)
        assert words in done.err
