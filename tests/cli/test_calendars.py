"""`mainspring calendars`: made, changed, shown, deleted; slips are pointed at and store nothing."""

import shutil
from pathlib import Path

import pytest

from tests.cli.conftest import Commands
from tests.cli.test_bad_input import content

APP = """
from mainspring import App

app = App("shop")


@app.job()
async def tidy() -> None: ...


app.calendar("holidays", ["12-25", "2037-04-05"])
app.schedule("nightly", "0 2 * * *", tidy.call(), calendars="holidays")
"""


@pytest.fixture(scope="module")
def deployed(tmp_path_factory: pytest.TempPathFactory, template: Path) -> Path:
    """A store with a calendar that a schedule heeds."""
    commands = Commands(tmp_path_factory.mktemp("deployed"))
    commands.store.parent.mkdir()
    shutil.copy(template, commands.store)
    (commands.folder / "shop.py").write_text(APP)
    commands("deploy", "shop:app", expect=0)
    return commands.store


@pytest.fixture
def shop(mainspring: Commands, deployed: Path) -> Commands:
    """Commands on a store of their own, with that calendar and schedule in it."""
    shutil.copy(deployed, mainspring.store)
    return mainspring


def entries(commands: Commands, name: str) -> list[str]:
    found: list[str] = commands("calendars", "get", name, "-o", "json", expect=0).json()["entries"]
    return found


def test_a_calendar_is_made_and_shown(mainspring: Commands) -> None:
    assert "no calendars yet" in mainspring("calendars", "ls", expect=0).err
    words = ("calendars", "create", "days", "2037-12-24..2038-01-02", "0 0 1 * *")
    dry = mainspring(*words, "--dry-run", expect=0)
    assert "+ calendar days  to be created  2 entries" in dry.out
    assert dry.err == "nothing was changed (--dry-run)\n"
    assert mainspring("calendars", "ls", "-o", "name", expect=0).out == ""
    assert "created" in mainspring(*words, "--business-days", "MON-THU", expect=0).out
    (row,) = mainspring("calendars", "ls", "-o", "json", expect=0).json()
    assert (row["name"], row["entries"]) == ("days", ["2037-12-24..2038-01-02", "0 0 1 * *"])
    assert (row["business_days"], row["schedules"], row["version"]) == ("MON-THU", [], 1)
    page = mainspring("calendars", "get", "days", expect=0).out
    assert "none: no schedule heeds it" in page
    found = mainspring("calendars", "get", "days", "-o", "json", expect=0).json()
    assert len(found["next_days"]) == 5
    assert all(day.endswith("-01") for day in found["next_days"])


def test_a_change_reaches_the_schedules_that_heed_it(shop: Commands) -> None:
    done = shop("calendars", "apply", "holidays", "12-25", "12-26", expect=0)
    assert "entries: 2037-04-05 -> 12-26" in done.out
    assert done.err == "1 schedule heeds it\n"
    before = content(shop.store)
    again = shop("calendars", "apply", "holidays", "12-25", "12-26", expect=0)
    assert ("= calendar holidays" in again.out, again.err) == (True, "")
    assert content(shop.store) == before
    assert shop("calendars", "ls", expect=0).out.splitlines()[1].split()[:4] == [
        "holidays", "2", "MON-FRI", "1",
    ]  # fmt: skip


def test_entries_come_from_a_file_or_from_what_get_printed(shop: Commands) -> None:
    (shop.folder / "days.txt").write_text("# ours\n12-25 # every year\n\n0 0 * * MON#1\n")
    shop("calendars", "apply", "holidays", "--file", "days.txt", "12-26", expect=0)
    assert entries(shop, "holidays") == ["12-26", "12-25", "0 0 * * MON#1"]
    shop("calendars", "apply", "holidays", "12-26", "--business-days", "SUN-THU", expect=0)
    printed = shop("calendars", "get", "holidays", "-o", "json", expect=0).out
    shop("calendars", "apply", "holidays", "12-25", expect=0)
    kept = shop("calendars", "get", "holidays", "-o", "json", expect=0).json()
    assert (kept["entries"], kept["business_days"]) == (["12-25"], "SUN-THU")
    shop("calendars", "create", "copy", "-f", "-", stdin=printed.encode(), expect=0)
    copy = shop("calendars", "get", "copy", "-o", "json", expect=0).json()
    assert (copy["entries"], copy["business_days"]) == (["12-26"], "SUN-THU")
    assert shop("calendars", "create", "list", "-f", "-", stdin=b'["12-31"]').code == 0
    assert entries(shop, "list") == ["12-31"]


def test_only_what_nothing_heeds_is_deleted(shop: Commands) -> None:
    before = content(shop.store)
    for words in ((), ("--dry-run",)):
        done = shop("calendars", "rm", "holidays", *words)
        assert (done.code, done.error_code) == (6, "conflict")
        assert "heeded by nightly" in done.err
    assert content(shop.store) == before
    shop("calendars", "create", "spare", "12-25", expect=0)
    assert shop("calendars", "rm", "spare", "--dry-run", expect=0).out == "spare  deleted\n"
    assert entries(shop, "spare") == ["12-25"]
    assert shop("calendars", "rm", "spare", expect=0).out == "spare  deleted\n"
    assert shop("calendars", "get", "spare").code == 3


BAD = [
    # (words, status, code, what is told, the text under which a caret stands and its place)
    (["create", "x", "2037-13-01"], 2, "invalid_schedule", "entries[0]: 2037-13", ("2037-13", 0)),
    (["create", "x", "12-25", "13-01"], 2, "invalid_schedule", "entries[1]: 13-01", ("13-01", 0)),
    (["create", "x", "02-30"], 2, "invalid_schedule", "02-30 does not exist", ("02-30", 0)),
    (["create", "x", "FOO"], 2, "invalid_schedule", "entries[0]: FOO is no day", ("FOO", 0)),
    (["create", "x", "0 25 * * *"], 2, "invalid_schedule", "entries[0]: hour: 25", ("0 25", 2)),
    (["create", "x", "FREQ=DALY"], 2, "invalid_schedule", "did you mean DAILY?", ("FREQ=DALY", 5)),
    (["create", "x", "2037-02-02..2037-01-01"], 2, "invalid_schedule", "backwards", ("2037-02", 0)),
    (["create", "x", "2037-01-01T00:00Z..2037-01-02"], 2, "invalid_schedule", "local", ("2037", 0)),
    (["create", "x", "12-25", "--business-days", "MOX"], 2, "invalid_schedule", "MON?", ("MOX", 0)),
    (["apply", "holidays", "12-25", "é"], 2, "invalid_schedule", "U+00E9", ("é", 0)),
    (["create", "x"], 2, "invalid_input", "which days?", None),
    (["create", "holidays", "12-25"], 6, "conflict", "calendars apply holidays", None),
    (["create", "!", "12-25"], 2, "invalid_input", "calendar: '!' is not a name", None),
    (["create", "x", "12-25", "--tenant", "!"], 2, "invalid_input", "tenant: '!'", None),
    (["create", "x", "--file", "none.txt"], 2, "invalid_input", "No such file", None),
    (["create", "x", "--file", "empty.txt"], 2, "invalid_input", "which days?", None),
    (["create", "x", "--file", "bad.json"], 2, "invalid_input", "bad.json is no calendar", None),
    (["create", "x", "--file", "bytes"], 2, "invalid_input", "not UTF-8", None),
    (["create", "x", "12-25", "--columns", "nme"], 2, "unknown_option", "did you mean name?", None),
    (["create"], 2, "invalid_input", "CALENDAR is missing", None),
    (["apply", "holidays", "SUN-SAT"], 2, "never_fires", "nightly would never fire again", None),
    (["get", "holydays"], 3, "not_found", "did you mean holidays?", None),
    (["get", "holidays", "--tenant", "other"], 3, "not_found", "there are no calendars", None),
    (["rm", "holydays"], 3, "not_found", "did you mean holidays?", None),
    (["rm", "holydays", "--dry-run"], 3, "not_found", "did you mean holidays?", None),
    (["rm", "holidays", "--columns", "x"], 2, "unknown_option", "'x'", None),
    (["ls", "--tenant", "-x"], 2, "invalid_input", "tenant: '-x' is not a name", None),
    (["lst"], 2, "unknown_option", "did you mean ls?", None),
]  # fmt: skip


@pytest.mark.parametrize(
    ("words", "status", "code", "told", "shown"), BAD, ids=[" ".join(row[0]) for row in BAD]
)
def test_bad_input_is_told_and_changes_nothing(
    words: list[str],
    status: int,
    code: str,
    told: str,
    shown: tuple[str, int] | None,
    shop: Commands,
) -> None:
    (shop.folder / "empty.txt").write_text("# nothing\n")
    (shop.folder / "bad.json").write_text('{"entries": 1}')
    (shop.folder / "bytes").write_bytes(b"\xff\xfe")
    before = content(shop.store)
    done = shop("calendars", *words)
    assert (done.code, done.error_code, done.out) == (status, code, ""), done
    done.assert_told()
    assert told in done.err
    if shown is not None:
        text, place = shown
        lines = done.err.splitlines()
        assert lines[1].startswith(f"  {text}")
        assert lines[2] == " " * (2 + place) + "^"
    assert content(shop.store) == before
