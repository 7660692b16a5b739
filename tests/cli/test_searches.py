"""`-q` on what lists and changes jobs, `--dry-run`, and waiting for many."""

import signal
from collections.abc import Callable
from pathlib import Path

import msgspec

from tests.cli.conftest import Commands, Running


def test_a_search_lists(mainspring: Commands) -> None:
    name = mainspring("submit", "greet", "name=Ada", expect=0).out.strip()
    mainspring("submit", "greet", "name=Bob", expect=0)
    for query in ("args.name:Ada", "Ada", "kind:gre* -args.name:Bob"):
        done = mainspring("jobs", "ls", "-q", query, "-o", "name", expect=0)
        if query != "Ada":
            assert done.out.split() == [name], query
    assert mainspring("jobs", "ls", "-q", "kind:add", expect=0).err == "no jobs match\n"


def test_a_search_cancels_only_with_consent(mainspring: Commands) -> None:
    for name in ("a", "b", "c"):
        mainspring("submit", "greet", f"name={name}", "--delay", "1h", expect=0)
    look = mainspring("jobs", "cancel", "-q", "kind:greet", "--dry-run", expect=0)
    assert "3 jobs would be cancelled; nothing was changed" in look.err
    refused = mainspring("jobs", "cancel", "-q", "kind:greet")
    assert (refused.code, refused.error_code) == (2, "invalid_input")
    assert "--yes" in refused.err
    one = mainspring("jobs", "cancel", "-q", "args.name:a", expect=0)
    assert one.out.endswith("  cancelled\n")
    done = mainspring("jobs", "cancel", "-q", "kind:greet", "--yes", "-o", "json", expect=0)
    assert [row["state"] for row in done.json()] == ["cancelled", "cancelled"]
    again = mainspring("jobs", "cancel", "-q", "kind:greet", "--yes", expect=0)
    assert "nothing was changed" in again.err


def test_a_search_makes_waiting_jobs_due(mainspring: Commands) -> None:
    name = mainspring("submit", "greet", "--delay", "1h", expect=0).out.strip()
    mainspring("submit", "greet", expect=0)
    look = mainspring("jobs", "retry", "-q", "kind:greet", "--dry-run", "-o", "name", expect=0)
    assert look.out.split() == [name]
    assert mainspring("jobs", "retry", "-q", "kind:greet", expect=0).out == f"{name}  ready\n"


def test_dry_runs_change_nothing(mainspring: Commands) -> None:
    name = mainspring("submit", "greet", "--delay", "1h", expect=0).out.strip()
    for words in (
        ("jobs", "retry", name),
        ("jobs", "cancel", name),
        ("queues", "pause", "default"),
        ("db", "migrate"),
        ("submit", "greet", "name=x"),
    ):
        done = mainspring(*words, "--dry-run", expect=0)
        assert "nothing was changed (--dry-run)" in done.err, words
    jobs = mainspring("jobs", "ls", "-o", "json", expect=0).json()
    assert [(job["id"], job["state"]) for job in jobs] == [(name, "scheduled")]
    assert mainspring("queues", "ls", "-o", "json").json()[0]["paused"] is False


def test_a_dry_submission_is_checked_in_full(mainspring: Commands) -> None:
    found = mainspring(
        "submit", "greet", "name=x", "--priority", "high", "--dry-run", "-o", "json", expect=0
    ).json()
    assert (found["priority"], found["payload"]) == ("high", {"name": "x"})
    done = mainspring("submit", "add", "a:=1", "b=x", "--dry-run")
    assert (done.code, done.error_code) == (2, "invalid_payload")


def test_a_queue_that_nothing_names_is_noticed(mainspring: Commands) -> None:
    done = mainspring("submit", "greet", "--queue", "defaultt", expect=0)
    assert "did you mean default?" in done.err
    listed = mainspring("jobs", "ls", "--kind", "gree", expect=0)
    assert "did you mean greet?" in listed.err


def test_unique_jobs_are_told(mainspring: Commands) -> None:
    first = mainspring("submit", "greet", "name=a", "--unique", "one", expect=0).out.strip()
    again = mainspring("submit", "greet", "name=b", "--unique", "one", expect=0)
    assert again.out.strip() == first
    assert "it was there already" in again.err
    rejected = mainspring("submit", "greet", "--unique", "one", "--on-duplicate", "reject")
    assert (rejected.code, rejected.error_code) == (6, "duplicate_job")
    replaced = mainspring(
        "submit", "greet", "name=c", "--unique", "one", "--on-duplicate", "replace", expect=0
    )
    assert replaced.out.strip() == first
    assert mainspring("jobs", "get", first, "-o", "json").json()["payload"] == {"name": "c"}
    by = [mainspring("submit", "greet", "name=z", "--unique-by", "name").out for _ in range(2)]
    assert by[0] == by[1]
    both = mainspring("submit", "greet", "--unique", "a", "--unique-by", "name")
    assert (both.code, both.error_code) == (2, "invalid_input")


def test_dead_letters_are_exported_by_search(dev: Commands) -> None:
    for order in (1, 2):
        dev("submit", "doomed", f"order:={order}", "--max-attempts", "1", "--wait")
    out = dev("dlq", "export", "-q", "args.order:2", expect=0).out.splitlines()
    record = msgspec.json.decode(out[0])
    assert len(out) == 1
    assert record["payload"] == {"order": 2}
    assert [item["state"] for item in record["attempts"]] == ["failed"]
    file = Path(dev.folder / "dead.jsonl")
    dev("dlq", "export", "--to", str(file), expect=0)
    assert len(file.read_text().splitlines()) == 2
    groups = dev("dlq", "groups", "-o", "json", expect=0).json()
    assert [(row["kind"], row["jobs"]) for row in groups] == [("doomed", 2)]
    group = groups[0]["group"]
    look = dev("dlq", "replay", "-q", f"group:{group}", "--dry-run", "-o", "name", expect=0)
    assert len(look.out.split()) == 2
    gone = dev("dlq", "discard", "-q", f"group:{group}", "--yes", expect=0)
    assert "2 dead letters deleted" in gone.err


def test_many_are_waited_for(dev: Commands) -> None:
    names = [dev("submit", "greet", expect=0).out.strip() for _ in range(3)]
    done = dev("jobs", "wait", *names, expect=0)
    assert done.out.splitlines() == [f"{name}  succeeded" for name in names]
    slow = dev("submit", "slow", "steps:=300", expect=0).out.strip()
    late = dev("jobs", "wait", *names, slow, "--timeout", "200ms")
    assert (late.code, late.error_code) == (7, "wait_timed_out")
    assert "3 of 4 jobs have ended" in late.err
    running = dev("workers", "get", "dev", "-o", "json", expect=0).json()
    assert [job["id"] for job in running["jobs"]] == [slow]
    dev("jobs", "cancel", slow, expect=0)


def test_ctrl_c_lets_go_of_many(dev: Commands, start_beside: Callable[..., Running]) -> None:
    slow = dev("submit", "slow", "steps:=300", expect=0).out.strip()
    waiting = start_beside("jobs", "wait", slow)
    waiting.wait_for("waiting for 1 job; Ctrl-C lets go")
    assert waiting.end(signal.SIGINT) == 130
    assert "detached: 1 job of 1 still to end" in waiting.text
    assert "Traceback" not in waiting.text
    dev("jobs", "cancel", slow, expect=0)


def test_a_job_is_explained(dev: Commands, mainspring: Commands) -> None:
    name = mainspring("submit", "greet", expect=0).out.strip()
    done = mainspring("jobs", "explain", name, expect=0)
    assert "It waits because no worker is up." in done.out
    assert "next: mainspring worker start" in done.out
    ended = dev("submit", "greet", "--wait", "-o", "name", expect=0).out.strip()
    found = dev("jobs", "explain", ended, "-o", "json", expect=0).json()
    assert [cause["code"] for cause in found["why"]] == ["succeeded"]


def test_bad_searches_are_told(mainspring: Commands) -> None:
    for words, said in (
        (("jobs", "ls", "-q", "stat:dead"), "state"),
        (("jobs", "ls", "-q", "state:deadd"), "dead"),
        (("jobs", "ls", "-q", "(kind:a"), ""),
        (("jobs", "ls", "-q", "kind:a", "--state", "dead"), "both"),
        (("jobs", "cancel", "-q", "kind:a", "job_01JD3M0V5T7QK4C8R2N6W9XYZA"), "both"),
        (("jobs", "cancel", "-q", "kind:a", "--limit", "0"), "between 1"),
        (("dlq", "replay", "-q", "group:x", "--all"), "both"),
        (("dlq", "ls", "-q", "nope:1"), ""),
    ):
        done = mainspring(*words)
        assert done.code == 2, done
        done.assert_told()
        assert said in done.err, done
