"""``mainspring schedules``: made, changed, applied, paused, fired and removed."""

from collections.abc import Callable
from typing import Any

import pytest

from mainspring.cli.schedule_backfills import BACKFILL_COLUMNS
from mainspring.cli.schedule_pages import SCHEDULE_COLUMNS
from mainspring.cli.schedule_tables import PLAN_COLUMNS, PREVIEW_COLUMNS
from tests.cli.conftest import Commands, Done

Here = Callable[..., Done]
NIGHTLY = ("schedules", "create", "nightly", "greet", "name=Ada", "--cron", "0 2 * * *")


def made(here: Here, *more: str) -> Done:
    return here(*NIGHTLY, *more, expect=0)


def schedule(here: Here, name: str = "nightly") -> Any:
    return here("schedules", "get", name, "-o", "json", expect=0).json()


def names(here: Here, *more: str) -> list[str]:
    return here("schedules", "ls", "-o", "name", *more, expect=0).out.split()


# --- create -------------------------------------------------------------------------------------


def test_what_is_made_is_told_in_words_and_in_local_time(here: Here) -> None:
    done = made(here, "--tz", "Europe/Berlin")
    lines = done.out.splitlines()
    assert lines[0].startswith("created nightly  sch_")
    assert lines[1] == "at 02:00 every day, Berlin time"
    assert lines[3].split() == ["LOCAL", "(Europe/Berlin)", "UTC", "IN"]
    assert len(lines) >= 9
    assert " 02:00 +0" in lines[4]
    assert "mainspring schedules trigger nightly --follow" in done.err


def test_every_option_comes_through(here: Here) -> None:
    here("schedules", "create", "calendar-less", "greet", "--every", "90m", expect=0)
    made(
        here,
        *("--when", "every 6h", "--rrule", "FREQ=DAILY;BYHOUR=9", "--at", "2030-01-31T09:00"),
        *("--at", "2031-01-31T09:00", "--tz", "America/New_York", "--anchor", "2027-01-04T09:00"),
        *("--start", "2027-01-01T00:00:00Z", "--end", "2040-01-01T00:00:00+01:00"),
        *("--max-fires", "1000", "--dst-gap", "shift", "--dst-fold", "both"),
        *("--jitter", "10m", "--jitter-mode", "fixed", "--misfire", "RUN_ALL"),
        *("--misfire-threshold", "5m", "--catchup-window", "2h", "--max-missed", "7"),
        *("--catchup-rate", "30", "--overlap", "Forbid", "--pause-after-failures", "3"),
        *("--effect-key", "report-{{week}}", "--queue", "default", "--priority", "1"),
        *("--max-attempts", "9", "--max-crashes", "2", "--backoff", "2s,3,1m,full"),
        *("--timeout", "90s", "--on-exhausted", "greet", "--note", "the books"),
    )
    found = schedule(here)
    assert found["when"] == [
        "every 6h", "0 2 * * *", "FREQ=DAILY;BYHOUR=9", "at 2030-01-31T09:00, 2031-01-31T09:00",
    ]  # fmt: skip
    wanted = {
        "zone": "America/New_York", "anchor": "2027-01-04T09:00", "max_fires": 1000,
        "starts_at": "2027-01-01T00:00:00Z", "ends_at": "2039-12-31T23:00:00Z",
        "dst_gap": "shift", "dst_fold": "both", "jitter_seconds": 600, "jitter_mode": "fixed",
        "misfire": "fire_all", "misfire_threshold_seconds": 300, "catchup_window_seconds": 7200,
        "max_missed": 7, "catchup_rate": 30, "overlap": "skip", "pause_after_failures": 3,
        "effect_key": "report-{{week}}", "queue": "default", "priority": "high",
        "max_attempts": 9, "max_crashes": 2, "timeout_ms": 90_000, "on_exhausted": "greet",
        "note": "the books", "payload": {"name": "Ada"}, "kind": "greet",
    }  # fmt: skip
    assert {name: found[name] for name in wanted} == wanted
    assert found["backoff"]["factor"] == 3


@pytest.mark.parametrize(
    ("options", "member", "value"),
    [
        (["--misfire-policy", "FIRE_ONCE"], "misfire", "fire_once"),
        (["--missed-window", "RUN_ALL"], "misfire", "fire_all"),
        (["--misfire", "DO_NOTHING"], "misfire", "skip"),
        (["--misfire", "backfill"], "misfire", "fire_all"),
        (["--overlap-policy", "BufferOne"], "overlap", "defer"),
        (["--overlap", "TerminateOther"], "overlap", "replace"),
        (["--allow-overlap"], "overlap", "allow"),
        (["--no-allow-overlap"], "overlap", "defer"),
        (["--max-runs", "7"], "max_fires", 7),
        (["--timezone", "Asia/Tokyo"], "zone", "Asia/Tokyo"),
        (["--zone", "+05:30"], "zone", "+05:30"),
        (["--end-at", "2099-01-01T00:00:00Z"], "ends_at", "2099-01-01T00:00:00Z"),
        (["--idempotency-key-template", "d-{{date}}"], "effect_key", "d-{{date}}"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else "",
)
def test_the_words_of_others_are_understood(
    here: Here, options: list[str], member: str, value: object
) -> None:
    made(here, *options)
    assert schedule(here)[member] == value


def test_what_may_not_be_meant_is_told(here: Here) -> None:
    done = here("schedules", "create", "x", "greet", "--cron", "*/7 9 1 * MON", expect=0)
    assert "note: either day field matches" in done.out
    assert "note: minute */7: the last step, after 56, is shorter" in done.out


def test_a_dry_run_makes_nothing_and_says_the_same(here: Here) -> None:
    dry = made(here, "--dry-run")
    assert dry.err == "nothing was changed (--dry-run)\n"
    assert names(here) == []
    wet = made(here)
    assert wet.out.splitlines()[1:3] == dry.out.splitlines()[:2]
    again = here(*NIGHTLY, "--dry-run")
    assert (again.code, again.error_code) == (6, "schedule_exists")


def test_machines_get_the_schedule_and_its_fires(here: Here) -> None:
    found = made(here, "-o", "json").json()
    assert (found["created"], found["name"], found["state"]) == (True, "nightly", "active")
    assert found["sentence"] == "at 02:00 every day, UTC"
    assert len(found["upcoming"]) == 5
    assert found["id"] == schedule(here)["id"]
    dry = here("schedules", "create", "x", "greet", "--every", "1h", "--dry-run", "-o", "json")
    assert (dry.json()["created"], dry.json()["warnings"]) == (False, [])


def test_columns_are_those_of_the_record(here: Here) -> None:
    found = made(here, "-o", "json").json()
    assert list(found) == ["created", *SCHEDULE_COLUMNS, *PREVIEW_COLUMNS]
    edited = here("schedules", "edit", "nightly", "--every", "1h", "-o", "json", expect=0).json()
    assert {*edited} == {*PLAN_COLUMNS, *PREVIEW_COLUMNS}
    taken = here("schedules", "backfill", "nightly", "--from", "2h", "-o", "json", expect=0).json()
    listed = here("schedules", "backfills", "nightly", "-o", "json", expect=0).json()[0]
    assert {*taken, *listed} == {*BACKFILL_COLUMNS}


def test_a_queue_that_nothing_names_is_told(here: Here) -> None:
    assert (
        "no worker or handler names the queue 'defaults'" in made(here, "--queue", "defaults").err
    )


def test_a_payload_from_stdin_is_kept_to_the_digit(here: Here) -> None:
    words = ("schedules", "create", "x", "greet", "--json", "-", "--every", "1h")
    here(*words, stdin=b'{"name": "A\\u0042"}', expect=0)
    assert schedule(here, "x")["payload"] == {"name": "AB"}


# --- ls, get, next, preview ---------------------------------------------------------------------


def test_the_list_has_filters_and_pages(here: Here) -> None:
    for name in ("one", "two", "three"):
        here("schedules", "create", name, "greet", "--every", "1h", expect=0)
    here("schedules", "create", "of-b", "greet", "--every", "1h", "--tenant", "b", expect=0)
    here("schedules", "pause", "two", expect=0)
    assert names(here) == ["one", "two", "three", "of-b"]
    assert names(here, "--state", "paused") == ["two"]
    assert names(here, "--state", "paused,active", "--name", "t") == ["two", "three"]
    assert names(here, "--tenant", "b") == ["of-b"]
    assert names(here, "--owner", "app:shop") == []
    page = here("schedules", "ls", "--limit", "2", "-o", "name", expect=0)
    assert page.out.split() == ["one", "two"]
    cursor = page.err.split()[-1]
    assert names(here, "--after", cursor) == ["three", "of-b"]
    table = here("schedules", "ls", expect=0).out.splitlines()
    assert table[0].split() == ["NAME", "STATE", "NEXT", "LAST", "KIND", "WHEN"]
    assert table[2].split()[:4] == ["two", "paused", "-", "-"]
    rows = here("schedules", "ls", "-o", "json", expect=0).json()
    assert [row["next_at"] is None for row in rows] == [False, True, False, False]


def test_without_schedules_one_is_told_how_to_make_one(here: Here) -> None:
    assert here("schedules", "ls", expect=0).err == (
        "no schedules yet: mainspring schedules create\n"
    )
    assert here("schedules", "ls", "--name", "x", expect=0).err == "no schedules match\n"


def test_a_schedule_is_shown_with_all_that_it_is(here: Here) -> None:
    made(here, "--tz", "Europe/Berlin", "--note", "the books", "--jitter", "5m")
    here("schedules", "pause", "nightly", "--reason", "repairs", "--until", "2h", expect=0)
    out = here("schedules", "get", "nightly", expect=0).out
    for part in ("paused", "repairs; until", "0 2 * * *", "greet in default", '{"name":"Ada"}',
                 "up to 5 m", "one job for all", "waits for the end", "the books",
                 "next, when it is resumed"):  # fmt: skip
        assert part in out
    assert here("schedules", "get", schedule(here)["id"], expect=0).out.startswith("nightly  pau")


def test_the_next_fires_are_as_many_as_asked_for(here: Here) -> None:
    made(here)
    assert len(here("schedules", "next", "nightly", expect=0).out.splitlines()) == 13
    rows = here("schedules", "next", "nightly", "-n", "3", "-o", "csv", expect=0).out.splitlines()
    assert rows[0] == "nominal_at,due_at,local,zone,note"
    assert len(rows) == 4
    here("schedules", "pause", "nightly", "--reason", "repairs", expect=0)
    told = here("schedules", "next", "nightly", expect=0).err
    assert told == "nightly is paused: repairs; none of these comes before it is resumed\n"


def test_a_preview_needs_no_store(here: Here, mainspring: Commands) -> None:
    mainspring.store.unlink()
    out = here(
        *("schedules", "preview", "--cron", "30 2 28 3 *", "--tz", "Europe/Berlin"),
        *("--start", "2027-01-01T00:00:00Z", "-n", "1"),
        expect=0,
    ).out
    assert "at 02:30 on day 28 of the month in March, Berlin time" in out
    assert "Sun 2027-03-28 03:00 +02:00" in out
    assert "02:30 does not exist on 2027-03-28: due at 03:00 as a missed fire" in out
    assert not mainspring.store.exists()
    one = here("schedules", "preview", "--cron", "H H * * *", "--name", "a", expect=0).out
    other = here("schedules", "preview", "--cron", "H H * * *", "--name", "b", expect=0).out
    assert one != other
    unknown = here("schedules", "preview", "--every", "1h", "--calendar", "holidays")
    assert unknown.error_code == "store_not_migrated"


# --- edit ---------------------------------------------------------------------------------------


def test_an_edit_says_what_changed_and_replaces_what_is_not_due(here: Here) -> None:
    made(here)
    done = here("schedules", "edit", "nightly", "name=Eve", "--cron", "0 3 * * *", expect=0)
    lines = done.out.splitlines()
    assert lines[0].startswith("changed nightly  sch_")
    assert lines[1:3] == [
        "    when: 0 2 * * * -> 0 3 * * *",
        '    payload: {"name":"Ada"} -> {"name":"Eve"}',
    ]
    assert "at 03:00 every day, UTC" in lines
    found = schedule(here)
    assert (found["version"], found["payload"]) == (2, {"name": "Eve"})
    same = here("schedules", "edit", "nightly", "--cron", "0 3 * * *", expect=0)
    assert same.out.startswith("unchanged nightly")
    assert schedule(here)["version"] == 2


def test_an_edit_keeps_what_it_does_not_name(here: Here) -> None:
    made(here, "--misfire", "skip", "--effect-key", "a-{{date}}", "--priority", "high")
    here(
        "schedules", "edit", "nightly", "--overlap", "allow", "--effect-key", "b-{{date}}", expect=0
    )
    here("schedules", "edit", "nightly", "--kind", "add", "--json", '{"a":1,"b":2}', expect=0)
    found = schedule(here)
    assert (found["misfire"], found["overlap"], found["priority"]) == ("skip", "allow", "high")
    assert (found["effect_key"], found["kind"]) == ("b-{{date}}", "add")
    assert found["payload"] == {"a": 1, "b": 2}


def test_an_edit_can_take_back_what_was_said(here: Here) -> None:
    made(here, "--max-fires", "5", "--misfire", "skip", "--priority", "high", "--jitter", "9m")
    here("schedules", "edit", "nightly", "--reset", "max-fires,misfire", "--reset", "priority",
         "--reset", "jitter", expect=0)  # fmt: skip
    found = schedule(here)
    assert (found["max_fires"], found["misfire"], found["priority"], found["jitter_seconds"]) == (
        None, "fire_once", "normal", 0,
    )  # fmt: skip


def test_a_dry_edit_changes_nothing(here: Here) -> None:
    made(here)
    done = here("schedules", "edit", "nightly", "--cron", "0 3 * * *", "--dry-run", expect=0)
    assert done.out.startswith("to be changed nightly")
    assert schedule(here)["when"] == ["0 2 * * *"]
    found = here("schedules", "edit", "nightly", "--tz", "Asia/Tokyo", "--dry-run", "-o", "json")
    assert found.json()["differences"] == [{"field": "zone", "old": "UTC", "new": "Asia/Tokyo"}]


# --- pause, resume, trigger, skip-next, rm ------------------------------------------------------


def test_pauses_have_a_reason_and_an_end(here: Here) -> None:
    made(here)
    done = here("schedules", "pause", "nightly", "--reason", "r", "--until", "2h", expect=0)
    assert done.out == "nightly  paused\n"
    assert done.err.startswith("until 20")
    found = schedule(here)
    assert (found["paused_reason"], found["paused_until"] is not None) == ("r", True)
    here("schedules", "pause", "nightly", expect=0)
    assert here("schedules", "pause", "nightly", expect=0).out == (
        "nightly  paused  (it was already)\n"
    )
    dry = here("schedules", "resume", "nightly", "--dry-run", "-o", "json", expect=0).json()
    assert dry == [{"id": "nightly", "state": "active", "changed": True}]
    assert schedule(here)["state"] == "paused"
    assert here("schedules", "resume", "nightly", "--catch-up", expect=0).out == "nightly  active\n"
    assert "it was not paused" in here("schedules", "resume", "nightly", expect=0).out


def test_several_are_paused_or_none(here: Here) -> None:
    made(here)
    here("schedules", "create", "b", "greet", "--every", "1h", expect=0)
    done = here("schedules", "pause", "b", "nightl")
    assert (done.code, done.error_code) == (3, "not_found")
    assert schedule(here, "b")["state"] == "active"
    assert (
        here("schedules", "pause", "b", "nightly", expect=0).out == "b  paused\nnightly  paused\n"
    )


def test_a_fire_by_hand_names_its_job(here: Here) -> None:
    made(here)
    dry = here("schedules", "trigger", "nightly", "--dry-run", expect=0)
    assert dry.out == 'greet would be submitted to the queue default: {"name":"Ada"}\n'
    job = here("schedules", "trigger", "nightly", expect=0).out.strip()
    assert here("jobs", "get", job, "-o", "json", expect=0).json()["kind"] == "greet"
    row = here("schedules", "history", "nightly", "-o", "json", expect=0).json()[0]
    assert (row["job_id"], row["cause"], row["outcome"]) == (job, "manual", "job")
    refused = here("schedules", "trigger", "nightly")
    assert (refused.code, refused.error_code) == (6, "would_overlap")
    assert "--despite-overlap" in refused.err
    other = here("schedules", "trigger", "nightly", "--despite-overlap", "-o", "json", expect=0)
    assert other.json()["id"] != job
    late = here("schedules", "trigger", "nightly", "--despite-overlap", "--wait-timeout", "10ms")
    assert (late.code, late.error_code) == (7, "wait_timed_out")


def test_fires_are_left_out_and_taken_back(here: Here) -> None:
    made(here)
    dry = here("schedules", "skip-next", "nightly", "-n", "2", "--dry-run", expect=0)
    assert dry.out.count("would be left out") == 2
    assert "left out" not in here("schedules", "next", "nightly", expect=0).out
    done = here("schedules", "skip-next", "nightly", "-n", "2", expect=0)
    assert [("left out on request" in line) for line in done.out.splitlines()[3:6]] == [
        True, True, False,
    ]  # fmt: skip
    assert "left out" not in here("schedules", "skip-next", "nightly", "-n", "0", expect=0).out


def test_removing_asks_and_the_ledger_stays(here: Here) -> None:
    made(here)
    raw = schedule(here)["id"]
    refused = here("schedules", "rm", "nightly")
    assert (refused.code, refused.error_code) == (2, "invalid_input")
    assert "remove 1 schedule; nothing was changed" in refused.err
    here("schedules", "rm", "nightly", "--dry-run", expect=0)
    assert names(here) == ["nightly"]
    done = here("schedules", "rm", "nightly", "--yes", expect=0)
    assert done.out == "nightly  removed\n"
    assert f"mainspring schedules history {raw}" in done.err
    assert names(here) == []
    assert names(here, "--state", "deleted") == ["nightly"]
    here("schedules", "history", raw, expect=0)
    for command in ("edit", "pause", "trigger", "skip-next", "rm"):
        more = ["--cron", "0 1 * * *"] if command == "edit" else []
        gone = here("schedules", command, raw, *more)
        assert (gone.code, gone.error_code) == (3, "not_found")
        assert "was removed" in gone.err


def test_as_a_program_it_says_the_same(mainspring: Commands) -> None:
    mainspring(*NIGHTLY, expect=0)
    done = mainspring("schedules", "ls", "--columns", "name,zone", expect=0)
    assert done.out == "NAME     ZONE\nnightly  UTC\n"
    typo = mainspring("schedules", "get", "nightyl")
    assert (typo.code, typo.error_code) == (3, "not_found")
    assert "did you mean nightly?" in typo.err
