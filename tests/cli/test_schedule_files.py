"""Files of schedules: applied, exported, and refused as a whole when one thing is wrong."""

from collections.abc import Callable
from typing import Any

import msgspec
import pytest

from tests.cli.conftest import Commands, Done
from tests.cli.test_bad_input import content

Here = Callable[..., Done]
FILE = """\
calendars:
- name: holidays
  entries: ["12-25", 2037-04-05]
schedules:
- name: nightly
  kind: greet
  payload: {name: Ada}
  cron: "0 2 * * *"
  zone: Europe/Berlin
  calendars: holidays
  misfire: RUN_ALL
  catchup_window: 2h
- name: often
  kind: greet
  every: 90m
  allow_overlap: true
  priority: high
  backoff: 2s,3
"""


SEED = """\
job_name: x
job_type: greet
schedule: every 1h
timezone: UTC
misfire_policy: FIRE_ONCE
misfire_threshold_seconds: 60
allow_overlap: false
max_attempts: 5
"""


def apply(here: Here, text: str, *more: str, name: str = "-", expect: int = 0) -> Done:
    return here("schedules", "apply", name, *more, stdin=text.encode(), expect=expect)


def spaced(text: str) -> list[str]:
    return [" ".join(line.split()) for line in text.splitlines()]


def stored(here: Here) -> dict[str, Any]:
    found = here("schedules", "ls", "-o", "json", expect=0).json()
    return {row["name"]: row for row in found}


def test_a_file_is_applied_once(here: Here) -> None:
    dry = apply(here, FILE, "--dry-run")
    assert spaced(dry.out) == [
        "NAME CHANGE WHEN",
        "+ calendar holidays to be created 2 entries",
        "+ nightly to be created at 02:00 every day, Berlin time, not on holidays",
        "+ often to be created every 90 minutes",
    ]
    assert dry.err == "3 created\nnothing was changed (--dry-run)\n"
    assert stored(here) == {}
    assert "+ nightly created at 02:00 every day, Berlin time, not on holidays" in spaced(
        apply(here, FILE).out
    )
    found = stored(here)
    assert found["nightly"]["misfire"] == "fire_all"
    assert found["nightly"]["catchup_window_seconds"] == 7_200
    assert (found["often"]["overlap"], found["often"]["priority"]) == ("allow", "high")
    assert found["often"]["backoff"]["factor"] == 3
    again = apply(here, FILE)
    assert again.err == "3 unchanged\n"
    assert {row["version"] for row in stored(here).values()} == {1}


def test_what_differs_is_changed_and_told(here: Here) -> None:
    apply(here, FILE)
    here("schedules", "pause", "nightly", expect=0)
    done = apply(here, FILE.replace("0 2 * * *", "0 3 * * *").replace("12-25", "12-24"))
    assert spaced(done.out) == [
        "NAME CHANGE WHEN",
        "~ calendar holidays changed 2 entries",
        "entries: 12-25 -> 12-24",
        "~ nightly changed, paused at 03:00 every day, Berlin time, not on holidays",
        "when: 0 2 * * * -> 0 3 * * *",
        "= often unchanged every 90 minutes",
    ]
    assert done.err == "2 changed, 1 unchanged\n"
    assert stored(here)["nightly"]["state"] == "paused"
    plan = apply(here, FILE, "--dry-run", "-o", "json").json()
    assert [(step["name"], step["action"]) for step in plan] == [
        ("holidays", "edit"),
        ("nightly", "edit"),
        ("often", "none"),
    ]


def test_what_is_exported_is_what_is_there(here: Here, mainspring: Commands) -> None:
    apply(here, FILE)
    here("schedules", "create", "full", "greet", "name=Eve", "--rrule", "FREQ=DAILY;BYHOUR=9",
         "--anchor", "2027-01-04T09:00", "--start", "2027-01-01T00:00:00Z", "--end",
         "2040-01-01T00:00:00Z", "--max-fires", "9", "--dst-gap", "shift", "--dst-fold", "both",
         "--only-on", "holidays", "--on-excluded", "next_business_day", "--jitter", "5m",
         "--jitter-mode", "fixed", "--misfire", "skip", "--misfire-threshold", "2m",
         "--max-missed", "7", "--catchup-rate", "5", "--overlap", "replace",
         "--pause-after-failures", "3", "--effect-key", "r-{{week}}", "--timeout", "1500ms",
         "--backoff", "1s,2,5m,full", "--on-exhausted", "greet", "--note", "all of it",
         "--tz", "Asia/Tokyo", expect=0)  # fmt: skip
    before = stored(here)
    for style in ("yaml", "json"):
        text = here("schedules", "export", "-o", style, expect=0).out
        assert apply(here, text, "--dry-run").err.splitlines()[0] == "4 unchanged"
    text = here("schedules", "export", "full", expect=0).out
    assert "name: holidays" in text
    assert "name: nightly" not in text
    here("schedules", "rm", "full", "--yes", expect=0)
    assert spaced(apply(here, text).out)[2].startswith("+ full created every day at 09:00")
    own = ("id", "created_at", "updated_at", "updated_by", "next_at")
    after = stored(here)
    for name in own:
        before["full"].pop(name)
        after["full"].pop(name)
    assert after["full"] == before["full"]


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("one.yaml", "name: x\nkind: greet\nevery: 1h\n"),
        ("list.yaml", "- name: x\n  kind: greet\n  every: 1h\n"),
        ("named.yml", "schedules:\n  x:\n    kind: greet\n    every: [1h]\n"),
        ("x.json", '{"schedules": [{"name": "x", "kind": "greet", "when": ["every 1h"]}]}'),
        ("x.toml", '[[schedules]]\nname = "x"\nkind = "greet"\nevery = "1h"\n'),
        ("seed.yaml", SEED),
    ],
)  # fmt: skip
def test_every_form_means_the_same(here: Here, mainspring: Commands, name: str, text: str) -> None:
    (mainspring.folder / name).write_text(text)
    here("schedules", "apply", name, expect=0)
    assert stored(here)["x"]["when"] == ["every 1h"]


def test_instants_of_toml_are_instants(here: Here, mainspring: Commands) -> None:
    (mainspring.folder / "x.toml").write_text(
        '[[schedules]]\nname = "x"\nkind = "greet"\nevery = "1h"\nends_at = 2037-01-01T00:00:00Z\n'
    )
    here("schedules", "apply", "x.toml", expect=0)
    assert stored(here)["x"]["ends_at"] == "2037-01-01T00:00:00Z"


def test_a_tenant_is_given_to_all_that_name_none(here: Here) -> None:
    apply(here, FILE, "--tenant", "shop-7")
    assert {row["tenant"] for row in stored(here).values()} == {"shop-7"}


GOOD = "name: x\nkind: greet\nevery: 1h\n"
BAD = [
    # (file, code, what the message must hold)
    ("", "invalid_input", ["stdin: there are no schedules", "schedules:"]),
    ("schedules: []", "invalid_input", ["nothing in it"]),
    ("just text", "invalid_input", ["no schedules in it"]),
    ("schedules: nightly", "invalid_input", ["schedules is no list"]),
    ("schedules_: []", "unknown_option", ["'schedules_'", "did you mean schedules"]),
    ("- nightly", "invalid_input", ["schedule 'nightly' has no members"]),
    ("- name: a\n  - b", "invalid_input", ["stdin: line 2"]),
    ("name: x\nkind: greet\ncron: */5 * * * *", "invalid_input", ["line 3", "begins with *"]),
    ("name: x\nkind: greet\ncron: @daily", "invalid_input", ['quote it: "@daily"']),
    ("name: x\nkind: greet\nname: y", "invalid_input", ["line 3: 'name' is here twice"]),
    ("kind: greet\nname:\nevery: 1h", "invalid_input", ["schedule None: name is missing"]),
    ("name: x\nevery: 1h", "invalid_input", ["schedule x: kind is missing"]),
    ("name: x\nkind: greet", "invalid_schedule", ["schedule x: when: no rule was given"]),
    (GOOD + "kinds: 3", "unknown_option", ["schedule x: there is no 'kinds'", "did you mean kind"]),
    (GOOD + "kind_: 3", "unknown_option", ["'kind_'"]),
    (GOOD + "job_type: greet", "invalid_input", ["kind was given twice, also as job_type"]),
    (GOOD + "payload: [1]", "invalid_input", ["payload: this is no mapping"]),
    (GOOD + "payload: {nome: a}", "invalid_payload", ["schedule x: ", "nome"]),
    (GOOD + "max_fires: two", "invalid_input", ["max_fires: 'two' is not a whole number"]),
    (GOOD + "max_fires: 0", "invalid_schedule", ["max_fires"]),
    (GOOD + "jitter: 5", "invalid_input", ["jitter: 5 is no text"]),
    (GOOD + 'jitter: "5"', "invalid_duration", ["jitter: '5'"]),
    (GOOD + "jitter_seconds: 5m", "invalid_input", ["jitter_seconds: '5m'"]),
    (GOOD + "dst_gap: maybe", "unknown_option", ["dst_gap: there is no 'maybe'"]),
    (GOOD + "overlap: perhaps", "invalid_schedule", ["schedule x: overlap"]),
    (GOOD + "misfire: sometimes", "invalid_schedule", ["schedule x: misfire"]),
    (GOOD + "zone: Europe/Berln", "unknown_zone", ["schedule x: ", "Europe/Berlin"]),
    (GOOD + "starts_at: 2027-01-01T00:00:00", "naive_datetime", ["schedule x: starts_at"]),
    (GOOD + "calendars: holidays", "invalid_schedule", ["no calendar 'holidays'"]),
    (GOOD + "calendars: []", "invalid_input", ["calendars: this is no list"]),
    (GOOD + "priority: urgent", "unknown_option", ["priority"]),
    (GOOD + "timeout: soon", "invalid_duration", ["timeout"]),
    (GOOD + "backoff: fast", "invalid_duration", ["fast"]),
    (GOOD.replace("greet", "gree"), "unknown_kind", ["schedule x: ", "greet"]),
    (GOOD.replace("name: x", "name: a b"), "invalid_input", ["'a b' is not a name"]),
    (GOOD.replace("1h", "often"), "invalid_schedule", ["schedule x: ", "often"]),
    (GOOD.replace("every: 1h", 'cron: "0 0 30 2 *"'), "never_fires", ["schedule x: ", "30"]),
    ("- {name: x, kind: greet, every: 1h}\n- {name: x, kind: greet, every: 2h}", "invalid_input",
     ["declared twice"]),
    ("- {name: x, kind: greet, every: 1h}\n- {name: z, kind: greet, every: 2z}",
     "invalid_schedule", ["schedule z: "]),
    ("calendars: [{name: c, entries: [12-45]}]", "invalid_schedule", ["12-45"]),
    ("calendars: [{name: c}]", "invalid_input", ["calendar c: entries"]),
    ("calendars: [{name: c, entries: [SUN], days: x}]", "unknown_option", ["'days'"]),
]  # fmt: skip


@pytest.mark.parametrize(("text", "name", "said"), BAD, ids=[row[0][:50] for row in BAD])
def test_a_file_with_a_fault_changes_nothing(
    here: Here, mainspring: Commands, text: str, name: str, said: list[str]
) -> None:
    before = content(mainspring.store)
    done = apply(here, text, expect=2)
    done.assert_told()
    assert done.error_code == name
    for part in said:
        assert part in done.err
    assert content(mainspring.store) == before


@pytest.mark.parametrize(
    ("name", "body", "code", "said"),
    [
        ("x.json", b"{", "not_json", "x.json: this is not JSON"),
        ("x.json", b"[" * 100_000, "not_json", "x.json"),
        ("x.toml", b"a = ", "invalid_input", "x.toml: "),
        ("x.yaml", b"name: \xff", "invalid_input", "this is not UTF-8"),
        ("x.yaml", b"#" * 4_194_305, "invalid_input", "more than 4,194,304 bytes"),
    ],
)
def test_what_cannot_be_read_is_refused(
    here: Here, mainspring: Commands, name: str, body: bytes, code: str, said: str
) -> None:
    (mainspring.folder / name).write_bytes(body)
    done = here("schedules", "apply", name, expect=2)
    done.assert_told()
    assert (done.error_code, said in done.err) == (code, True)


def test_json_of_machines_can_be_applied(here: Here) -> None:
    apply(here, FILE)
    record = here("schedules", "export", "often", "-o", "json", expect=0).json()
    record["schedules"][0]["when"] = ["every 2h"]
    done = apply(here, msgspec.json.encode(record).decode())
    assert "when: every 90m -> every 2h" in done.out
