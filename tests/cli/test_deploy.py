"""`mainspring deploy`: the plan, what it changes, what it refuses, and what stays."""

import sqlite3
from typing import Any

import pytest

from tests.cli.conftest import Commands
from tests.cli.test_bad_input import content

APP = """
from mainspring import App

print("what an app prints is not data")
app = App("shop")


@app.job(queue="mail")
async def report(kind: str = "daily") -> None: ...


app.calendar("holidays", ["12-25", "2037-04-05"])
app.schedule(
    "nightly", "0 2 * * *", report.call("daily"), zone="Europe/Berlin", calendars="holidays"
)
app.schedule("by-name", "@hourly", "report", {"kind": "x"})


@app.schedule("tidy", "every 15m")
@app.job()
async def tidy() -> None: ...
"""
CHANGED = APP.replace('"0 2 *', '"30 2 *').replace("by-name", "by-kind")


def write(commands: Commands, text: str = APP) -> None:
    (commands.folder / "shop.py").write_text(text)


def plan(commands: Commands, *words: str, expect: int = 0) -> dict[str, dict[str, Any]]:
    done = commands("deploy", "shop:app", *words, "-o", "json", expect=expect)
    return {step["name"]: step for step in done.json()}


def rows(commands: Commands) -> dict[str, tuple[str, str, str | None]]:
    """Name, state and owner of what the store has."""
    with sqlite3.connect(commands.store) as connection:
        found = connection.execute("SELECT name, state, owner FROM schedules").fetchall()
    connection.close()
    return {name: (name, state, owner) for name, state, owner in found}


def edit(commands: Commands, statement: str) -> None:
    with sqlite3.connect(commands.store) as connection:
        connection.execute(statement)
    connection.close()


def test_a_plan_is_shown_and_nothing_is_changed(mainspring: Commands) -> None:
    write(mainspring)
    before = content(mainspring.store)
    done = mainspring("deploy", "shop:app", "--dry-run", expect=0)
    assert [" ".join(line.split()) for line in done.out.splitlines()] == [
        "NAME CHANGE WHEN",
        "+ calendar holidays to be created 2 entries",
        "+ nightly to be created at 02:00 every day, Berlin time, not on holidays",
        "+ by-name to be created every hour, UTC",
        "+ tidy to be created every 15 minutes",
    ]
    assert done.err == "4 to be created\nnothing was changed (--dry-run)\n"
    drifted = mainspring("deploy", "shop:app", "--check", expect=8)
    assert (drifted.out, drifted.err) == (done.out, "4 to be created\n")
    assert content(mainspring.store) == before


def test_what_is_declared_is_there_and_then_rests(mainspring: Commands) -> None:
    write(mainspring)
    done = mainspring("deploy", "shop:app", expect=0)
    assert done.err == "4 created\n"
    assert rows(mainspring) == {
        name: (name, "active", "app:shop") for name in ("nightly", "by-name", "tidy")
    }
    before = content(mainspring.store)
    assert {step["action"] for step in plan(mainspring).values()} == {"none"}
    assert mainspring("deploy", "shop:app", "--check", expect=0).err == "4 unchanged\n"
    assert content(mainspring.store) == before


def test_changes_are_told_member_by_member(mainspring: Commands) -> None:
    write(mainspring)
    mainspring("deploy", "shop:app", expect=0)
    write(mainspring, CHANGED.replace('["12-25"', '["12-25", "12-26"'))
    found = plan(mainspring, "--check", expect=8)
    assert {name: step["action"] for name, step in found.items()} == {
        "holidays": "edit",
        "nightly": "edit",
        "by-kind": "create",
        "tidy": "none",
        "by-name": "leave",
    }
    assert found["nightly"]["differences"] == [
        {"field": "when", "old": "0 2 * * *", "new": "30 2 * * *"}
    ]
    assert found["holidays"]["differences"] == [{"field": "entries", "old": "-", "new": "12-26"}]
    done = mainspring("deploy", "shop:app", expect=0)
    assert "    when: 0 2 * * * -> 30 2 * * *\n" in done.out
    assert "declared no more stays, unless --prune removes it" in done.err
    assert rows(mainspring)["by-name"][1] == "active"


def test_what_is_declared_no_more_goes_only_when_asked_to(mainspring: Commands) -> None:
    write(mainspring)
    mainspring("deploy", "shop:app", expect=0)
    write(mainspring, APP.replace("by-name", "by-kind"))
    assert plan(mainspring)["by-name"]["action"] == "leave"
    assert plan(mainspring, "--check")["by-name"]["action"] == "leave"
    assert plan(mainspring, "--check", "--prune", expect=8)["by-name"]["action"] == "remove"
    done = mainspring("deploy", "shop:app", "--prune", expect=0)
    assert "- by-name" in done.out
    assert rows(mainspring)["by-name"][1] == "deleted"


def test_a_pause_stays_whatever_is_changed(mainspring: Commands) -> None:
    write(mainspring)
    mainspring("deploy", "shop:app", expect=0)
    edit(mainspring, "UPDATE schedules SET state = 'paused', paused_at = 1 WHERE name = 'nightly'")
    write(mainspring, CHANGED)
    found = plan(mainspring)["nightly"]
    assert (found["action"], found["paused"]) == ("edit", True)
    assert rows(mainspring)["nightly"][1] == "paused"
    again = mainspring("deploy", "shop:app", expect=0)
    assert "unchanged, paused" in again.out


def test_what_somebody_else_keeps_is_refused_until_adopted(mainspring: Commands) -> None:
    write(mainspring)
    mainspring("deploy", "shop:app", expect=0)
    write(mainspring, CHANGED.replace('App("shop")', 'App("store")'))
    before = content(mainspring.store)
    for words, code in ((), 6), (("--dry-run",), 6), (("--check",), 8):
        done = mainspring("deploy", "shop:app", *words, expect=code)
        assert "! nightly" in done.out
        assert "kept by app:shop" in done.out
        if code == 6:
            assert done.error_code == "conflict"
            assert "app:shop keeps nightly and 1 more; nothing was changed" in done.err
            assert "--adopt" in done.err
        assert content(mainspring.store) == before
    done = mainspring("deploy", "shop:app", "--adopt", expect=0)
    assert "1 created, 2 taken over" in done.err
    assert rows(mainspring)["nightly"][2] == "app:store"
    assert rows(mainspring)["by-name"][2] == "app:shop"


def test_the_projects_app_is_deployed_where_none_is_named(mainspring: Commands) -> None:
    write(mainspring)
    (mainspring.folder / "mainspring.toml").write_text('app = "shop:app"\n')
    assert mainspring("deploy", "-o", "name", expect=0).out.split() == [
        "holidays", "nightly", "by-name", "tidy",
    ]  # fmt: skip


def test_an_app_without_schedules_is_told_so(mainspring: Commands) -> None:
    write(mainspring, 'from mainspring import App\napp = App("bare")\n')
    done = mainspring("deploy", "shop:app", "--check", expect=0)
    assert (done.out, done.err) == ("", "the app bare declares no schedules and no calendars\n")


BAD = [
    # (what is written instead of what, status, code, what is told)
    ('"0 2 * * *"', '"0 25 * * *"', "invalid_schedule",
     ["schedule nightly: hour: 25 is out of range (position 2)", "\n  0 25 * * *\n    ^\n"]),
    ('"0 2 * * *"', '"0 0 30 2 *"', "never_fires", ["nightly", "\n  0 0 30 2 *\n      ^\n"]),
    ('"every 15m"', '"every 0s"', "invalid_schedule", ["schedule tidy: interval"]),
    ('"12-25"', '"13-26"', "invalid_schedule",
     ["calendar holidays: entries[0]: 13-26 does not exist", "\n  13-26\n  ^\n"]),
    ("Europe/Berlin", "Europe/Berln", "unknown_zone", ["nightly", "did you mean Europe/Berlin"]),
    ('calendars="holidays"', 'calendars="holyday"', "invalid_schedule",
     ["there is no calendar 'holyday'", "did you mean holidays?"]),
    ('"report", {"kind"', '"reporting", {"kind"', "unknown_kind", ["by-name", "'reporting'"]),
    ('{"kind": "x"}', '{"kind": 1}', "invalid_payload", ["schedule by-name", "/kind"]),
    ('"by-name"', '"nightly"', "app_not_loaded", ["'nightly' is declared twice", "shop.py:"]),
    ('"by-name"', '"!"', "app_not_loaded", ["name: '!' is not a name", "shop.py:"]),
    ("zone=", "zome=", "app_not_loaded", ["'zome'", "did you mean zone?"]),
    ('App("shop")', "1", "app_not_loaded", []),
]  # fmt: skip


@pytest.mark.parametrize(("old", "new", "code", "told"), BAD, ids=[row[1] for row in BAD])
def test_a_bad_declaration_is_told_and_nothing_is_stored(
    old: str, new: str, code: str, told: list[str], mainspring: Commands
) -> None:
    assert APP.count(old) == 1
    write(mainspring, APP.replace(old, new))
    before = content(mainspring.store)
    for words in ((), ("--dry-run",)):
        done = mainspring("deploy", "shop:app", *words)
        assert (done.code, done.error_code, done.out) == (2, code, ""), done
        done.assert_told()
        for part in told:
            assert part in done.err
    assert content(mainspring.store) == before


@pytest.mark.parametrize(
    ("line", "code", "name", "told"),
    [
        ("deploy", 2, "invalid_input", "which app?"),
        ("deploy no_such_module:app", 2, "app_not_loaded", "'no_such_module'"),
        ("deploy shop:ap", 2, "app_not_loaded", "did you mean shop:app?"),
        ("deploy shop:app extra", 2, "invalid_input", "takes no 'extra'"),
        ("deploy shop:app --prun", 2, "unknown_option", "did you mean --prune?"),
        ("deploy shop:app --columns nme", 2, "unknown_option", "did you mean name?"),
        ("deploy leaves", 2, "app_not_loaded", "exit status 7"),
    ],
)
def test_bad_words_are_told(
    line: str, code: int, name: str, told: str, mainspring: Commands
) -> None:
    write(mainspring)
    (mainspring.folder / "leaves.py").write_text("import os\nos._exit(7)\n")
    before = content(mainspring.store)
    done = mainspring(*line.split())
    assert (done.code, done.error_code, done.out) == (code, name, ""), done
    done.assert_told()
    assert told in done.err
    assert content(mainspring.store) == before
