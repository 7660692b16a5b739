"""`--detach` and `mainspring operations`: bulk actions that go on without their command."""

from collections.abc import Callable

from tests.cli.conftest import Commands, Running


def _waiting(mainspring: Commands, count: int) -> None:
    for number in range(count):
        mainspring("submit", "greet", f"name={number}", "--delay", "1h", expect=0)


def test_a_search_is_handed_over_and_carried_on(
    mainspring: Commands, start: Callable[..., Running]
) -> None:
    _waiting(mainspring, 3)
    refused = mainspring("jobs", "cancel", "-q", "kind:greet", "--detach")
    assert (refused.code, refused.error_code) == (2, "invalid_input")
    assert "this would cancel 3 jobs" in refused.err
    begun = mainspring(
        "jobs", "cancel", "-q", "kind:greet", "--detach", "--canary", "1", "--rate", "50/s",
        "--reason", "enough", "--yes", "-o", "json", expect=0,
    ).json()  # fmt: skip
    name = begun["id"]
    assert name.startswith("op_")
    assert (begun["action"], begun["state"], begun["goal"]) == ("cancel", "running", 3)
    assert begun["options"] == {"rate": 50.0, "canary": 1, "reason": "enough"}
    late = mainspring("operations", "watch", name, "--timeout", "1ms")
    assert (late.code, late.error_code) == (7, "wait_timed_out")
    start("scheduler", "start")
    paused = mainspring("operations", "watch", name)
    assert (paused.code, paused.error_code) == (5, "job_failed")
    assert "canary: 1 changed" in paused.err
    assert f"next: mainspring operations resume {name}" in paused.err
    mainspring("operations", "resume", name, expect=0)
    done = mainspring("operations", "watch", name, "-o", "json", expect=0).json()
    assert (done["state"], done["changed"], done["report"]) == (
        "done", 3, {"scheduled": {"changed": 3}},
    )  # fmt: skip
    jobs = mainspring("jobs", "ls", "-o", "json", expect=0).json()
    assert [(job["state"], job["reason"]) for job in jobs] == [("cancelled", "enough")] * 3
    rows = mainspring("operations", "get", name, "--jobs", "-o", "json", expect=0).json()
    assert [row["job_id"] for row in rows] == sorted(job["id"] for job in jobs)
    assert {row["outcome"] for row in rows} == {"changed"}
    assert "done" in mainspring("operations", "ls", expect=0).out


def test_people_pause_resume_and_abort(mainspring: Commands) -> None:
    assert mainspring("operations", "ls", expect=0).err == "no operations yet\n"
    _waiting(mainspring, 2)
    done = mainspring("jobs", "retry", "-q", "kind:greet", "--detach", "--yes", expect=0)
    name = done.out.split()[0]
    assert "retries 2 jobs: kind:greet" in done.out
    assert f"next: mainspring operations watch {name}" in done.err
    paused = mainspring("operations", "pause", name, "--reason", "lunch", expect=0)
    assert f"{name}  paused (lunch)" in paused.out
    assert mainspring("operations", "ls", "--state", "paused", "-o", "name").out.split() == [name]
    assert mainspring("operations", "resume", name, "-o", "name", expect=0).out.split() == [name]
    aborted = mainspring("operations", "abort", name, "--reason", "wrong", "-o", "json", expect=0)
    assert aborted.json()["state"] == "aborted"
    again = mainspring("operations", "resume", name)
    assert (again.code, again.error_code) == (6, "conflict")
    states = mainspring("jobs", "ls", "-o", "json", expect=0).json()
    assert {job["state"] for job in states} == {"scheduled"}


def test_dead_letters_by_filter_or_search(mainspring: Commands) -> None:
    for words in (("replay", "--kind", "a"), ("discard", "--all"), ("replay", "-q", "kind:a")):
        done = mainspring("dlq", *words, "--detach", "--yes", expect=0)
        assert "no dead letter matches that this could change" in done.err


def test_slips_are_told(mainspring: Commands) -> None:
    job = mainspring("submit", "greet", "--delay", "1h", expect=0).out.strip()
    for words, code in (
        (("jobs", "cancel", job, "--detach"), "invalid_input"),
        (("jobs", "cancel", "-q", "kind:greet", "--rate", "5/s"), "invalid_input"),
        (("jobs", "cancel", "-q", "kind:greet", "--detach", "--rate", "5"), "invalid_input"),
        (("jobs", "cancel", "-q", "kind:greet", "--detach", "--canary", "0"), "invalid_input"),
        (("jobs", "cancel", "-q", "stat:x", "--detach", "--yes"), "invalid_query"),
        (("operations", "get", job), "invalid_id"),
        (("operations", "get", "op_01JD3M0V5T7QK4C8R2N6W9XYZA"), "not_found"),
        (("operations", "ls", "--state", "stopped"), "unknown_option"),
    ):
        done = mainspring(*words)
        assert done.error_code == code, (words, done.err)
        done.assert_told()
    look = mainspring("jobs", "cancel", "-q", "kind:greet", "--detach", "--dry-run", expect=0)
    assert "1 job would be cancelled; nothing was changed" in look.err
    assert mainspring("operations", "ls", "-o", "json", expect=0).json() == []
