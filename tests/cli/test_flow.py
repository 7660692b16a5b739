"""What a newcomer does, against a living `mainspring dev`: run, fail, retry, die, come back."""

import signal
from collections.abc import Callable

from tests.cli.conftest import Commands, Running


def test_a_job_runs_and_its_result_is_printed(dev: Commands) -> None:
    done = dev("submit", "greet", "name=Ada", "--wait", expect=0)
    name, result = done.out.splitlines()
    assert name.startswith("job_")
    assert result == '"Hello, Ada"'
    assert "greet  ready -> running -> succeeded  " in done.err


def test_a_job_fails_retries_dies_and_comes_back(dev: Commands) -> None:
    died = dev("submit", "doomed", "order:=42", "--wait")
    assert (died.code, died.error_code) == (5, "job_failed")
    name = died.out.strip()
    for attempt in (1, 2, 3):
        assert f"attempt {attempt}/3 failed: ValueError: order 42 has no address" in died.err
    assert "-> dead letter" in died.err
    assert f"next: mainspring dlq get {name}" in died.err

    assert name in dev("dlq", "ls", "-o", "name", expect=0).out.split()
    shown = dev("dlq", "get", name, expect=0)
    assert "attempts_exhausted" in shown.out
    assert shown.out.count("ValueError: order 42 has no address") >= 3
    assert f"mainspring dlq replay {name}" in shown.err

    back = dev("dlq", "replay", name, "works:=true", "--wait", expect=0)
    assert back.out.splitlines() == [f"{name}  ready", '"order 42 sent"']
    job = dev("jobs", "get", name, "-o", "json", expect=0).json()
    assert job["state"] == "succeeded"
    assert job["payload"] == {"order": 42, "works": True}
    assert [item["state"] for item in job["attempts"]] == ["failed"] * 3 + ["succeeded"]
    assert job["replays"] == 1
    again = dev("dlq", "replay", name)
    assert (again.code, again.error_code) == (6, "conflict")


def test_a_flaky_job_tells_its_retries(dev: Commands) -> None:
    done = dev("submit", "flaky", "--wait", expect=0)
    assert "attempt 1/5 failed: ConnectionError" in done.err
    assert "attempt 2/5 failed: ConnectionError" in done.err
    assert done.out.endswith('"paid on try 3"\n')


def test_progress_and_log_can_be_followed(dev: Commands) -> None:
    done = dev("submit", "slow", "steps:=12", "--follow", expect=0)
    assert done.err.count("page written") == 12
    assert "%  writing pages" in done.err
    name = done.out.splitlines()[0]
    lines = dev("jobs", "logs", name, expect=0).out.splitlines()
    assert len(lines) == 12
    assert 'INFO    page written  {"page":3}' in lines[2]
    records = dev("jobs", "logs", name, "-o", "jsonl", expect=0).out.splitlines()
    assert '"level":"info"' in records[0].replace(" ", "")


def test_a_wait_ends_before_the_job_if_told_to(dev: Commands) -> None:
    done = dev("submit", "slow", "steps:=200", "--wait-timeout", "100ms")
    assert (done.code, done.error_code) == (7, "wait_timed_out")
    name = done.out.strip()
    cancelled = dev("jobs", "cancel", name, "--reason", "enough", expect=0)
    assert cancelled.out.split()[:2] in ([name, "cancelling"], [name, "cancelled"])
    watched = dev("jobs", "watch", name)
    assert (watched.code, watched.error_code) == (5, "job_failed")
    assert "cancelled" in watched.err
    assert dev("jobs", "cancel", name, expect=0).out == f"{name}  cancelled  (unchanged)\n"
    late = dev("jobs", "retry", name)
    assert (late.code, late.error_code) == (6, "conflict")


def test_what_lies_in_an_object_store_that_is_not_read_is_said(dev: Commands) -> None:
    small = {"MAINSPRING_INLINE_BYTES": "1"}
    name = dev("submit", "doomed", "order:=7", "--max-attempts", "1", "-o", "name", env=small)
    letter = name.out.strip()
    dev("jobs", "watch", letter)
    assert '{"order":7}' in dev("jobs", "get", letter, expect=0).out
    shown = dev("jobs", "get", letter, "--blobs", "none", expect=0).out
    assert "not read from the object store: payload/" in shown
    # The rest of the payload would be lost: what is changed must have been read.
    lost = dev("dlq", "replay", letter, "works:=true", "--blobs", "none")
    assert (lost.code, lost.error_code) == (9, "blob_unavailable")
    lost.assert_told()
    back = dev("dlq", "replay", letter, "works:=true", "--wait", expect=0)
    assert "order 7 sent" in back.out


def test_a_finished_job_is_not_cancelled(dev: Commands) -> None:
    name = dev("submit", "greet", "--wait", "-o", "name", expect=0).out.strip()
    done = dev("jobs", "cancel", name)
    assert (done.code, done.error_code) == (6, "conflict")
    assert "succeeded already" in done.err


def test_a_scheduled_job_can_be_run_now(dev: Commands) -> None:
    name = dev("submit", "greet", "--delay", "1h", expect=0).out.strip()
    assert dev("jobs", "ls", "--state", "scheduled", "-o", "name", expect=0).out.strip() == name
    assert dev("jobs", "retry", name, expect=0).out == f"{name}  ready\n"
    assert dev("jobs", "watch", name, expect=0).out == '"Hello, world"\n'


def test_isolated_work_runs(dev: Commands) -> None:
    assert dev("submit", "crunch", "n:=10", "--wait", expect=0).out.endswith("285\n")


def test_dead_letters_are_handled_in_bulk(dev: Commands) -> None:
    for order in (1, 2):
        dev("submit", "doomed", f"order:={order}", "--max-attempts", "1", "--wait")
    look = dev("dlq", "replay", "--kind", "doomed", "--dry-run", expect=0)
    assert "2 dead letters would be replayed" in look.err
    refused = dev("dlq", "replay", "--kind", "doomed")
    assert (refused.code, refused.error_code) == (2, "invalid_input")
    assert "--yes" in refused.err
    back = dev("dlq", "replay", "--kind", "doomed", "--since", "1h", "--yes", "--wait")
    assert back.code == 5
    assert "2 dead letters match, 2 replayed" in back.err
    assert "0 succeeded, 2 did not" in back.err
    look = dev("dlq", "purge", "--kind", "doomed", "--dry-run", expect=0)
    assert "2 dead letters would be deleted" in look.err
    assert dev("dlq", "purge", "--all").code == 2
    gone = dev("dlq", "purge", "--all", "--yes", expect=0)
    assert "2 dead letters deleted" in gone.err
    assert dev("dlq", "ls", expect=0).out == ""


def test_ctrl_c_detaches_and_leaves_the_job(
    dev: Commands, start_beside: Callable[..., Running]
) -> None:
    waiting = start_beside("submit", "slow", "steps:=200", "--wait")
    name = waiting.wait_for("^job_").strip()
    running = start_beside("jobs", "watch", name, "--follow")
    running.wait_for("page written")
    for command in (waiting, running):
        assert command.end(signal.SIGINT) == 130
        assert f"detached: {name} goes on   next: mainspring jobs watch {name}" in command.text
        assert "Traceback" not in command.text
    assert dev("jobs", "get", name, "-o", "json", expect=0).json()["state"] == "running"
    dev("jobs", "cancel", name, expect=0)
