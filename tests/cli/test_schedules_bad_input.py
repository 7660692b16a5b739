"""Bad input to ``schedules``: one message, its code, its exit status, and nothing stored."""

import shlex
import shutil
import sqlite3
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.cli.conftest import Commands, Done
from tests.cli.test_bad_input import content

Here = Callable[..., Done]
NEW = "schedules create x greet"
NO_SCHEDULE = "sch_01JD3M0V5T7QK4C8R2N6W9XYZA"
BAD_SCHEDULE = "invalid_schedule"

#: Every class of malformed cron expressions: what is wrong, and what the message must hold.
CRON = [
    ("", ["cron: nothing was given"]),
    ("0 9 * *", ["4 fields"]),
    ("0 9 * * * * * *", ["fields"]),
    ("61 * * * *", ["minute", "61"]),
    ("0 24 * * *", ["hour", "24"]),
    ("0 0 0 * *", ["day of month: 0"]),
    ("0 0 32 * *", ["day of month: 32"]),
    ("0 0 * 13 *", ["month", "13"]),
    ("0 0 * * 8", ["day of week: 8"]),
    ("0 0 * * MONDAYS", ["day of week: MONDAYS", "did you mean MON?"]),
    ("0 0 * * FOO", ["day of week: FOO"]),
    ("JAN 0 * * *", ["minute takes no names", "position 0"]),
    ("30-10 * * * *", ["minute", "30-10"]),
    ("0 0 ? * ?", ["?"]),
    ("1, * * * *", ["minute"]),
    (",1 * * * *", ["minute"]),
    ("1,,2 * * * *", ["minute"]),
    (", * * * *", ["minute"]),
    ("+5 * * * *", ["minute", "+5"]),
    ("-5 * * * *", ["minute"]),
    ("5.5 * * * *", ["minute", "5.5"]),
    ("0x5 * * * *", ["minute"]),
    ("*/0 * * * *", ["minute: 0 is no step", "position 2"]),
    ("*/ * * * *", ["minute"]),
    ("*/-5 * * * *", ["minute"]),
    ("/5 * * * *", ["minute"]),
    ("1-2-3 * * * *", ["minute"]),
    ("1-5/2/3 * * * *", ["minute"]),
    ("99999999999 * * * *", ["minute"]),
    ("0 0 32W * *", ["day of month: 32"]),
    ("0 0 W * *", ["W"]),
    ("0 0 L-40 * *", ["L-40"]),
    ("0 0 * * MON#0", ["MON#0"]),
    ("0 0 * * MON#6", ["MON#6"]),
    ("0 0 * * MON#", ["MON#"]),
    ("0 0 30 2 *", ["30 of month 2 does not exist"]),
    ("0 0 31 4,6,9,11 *", ["31 of month 4,6,9,11 does not exist"]),
    ("0\u00a00 * * *", ["position 1"]),
    ("\u0665 * * * *", ["position 0"]),
    ("* * * * *\x01", ["position 9"]),
    ("*" * 300, ["256"]),
    ("@reboot", ["@reboot"]),
    ("@dayly", ["@dayly", "@daily"]),
    ("TZ=UTC 0 9 * * *", ["zone"]),
    ("every 5m", ["another kind of rule", "did you mean --every '5m'?"]),
    ("FREQ=DAILY", ["another kind of rule", "did you mean --rrule 'FREQ=DAILY'?"]),
    ("2030-01-31T09:00", ["another kind of rule", "did you mean --at '2030-01-31T09:00'?"]),
]  # fmt: skip

RRULE = [
    ("", ["rrule: nothing was given"]),
    ("FREQ=SECONDLY", ["SECONDLY"]),
    ("FREQ=FORTNIGHTLY", ["FORTNIGHTLY"]),
    ("FREQ=DAILY;BYSECOND=5", ["5 is not a number from 0 to 0", "position 20"]),
    ("FREQ=DAILY;BYEASTER=0", ["BYEASTER"]),
    ("FREQ=DAILY;FREQ=WEEKLY", ["FREQ"]),
    ("FREQ=DAILY;COUNT=5;UNTIL=20300101", ["COUNT", "UNTIL"]),
    ("FREQ=DAILY;COUNT=5", ["COUNT needs a start", "anchor"]),
    ("FREQ=DAILY;NONSENSE=1", ["NONSENSE"]),
    ("FREQ=DAILY;INTERVAL=0", ["0 is not a number from 1", "position 20"]),
    ("FREQ=DAILY;BYHOUR=24", ["24 is not a number from 0 to 23"]),
    ("FREQ=WEEKLY;BYDAY=1MO", ["BYDAY numbers need FREQ=MONTHLY or YEARLY"]),
    ("FREQ=DAILY;BYYEARDAY=5", ["BYYEARDAY"]),
    ("FREQ=DAILY EXRULE:FREQ=WEEKLY", ["EXRULE"]),
    ("DTSTART:20270101T000000 RRULE:FREQ=DAILY", ["DTSTART", "anchor"]),
    ("FREQ=DAILY RRULE:FREQ=WEEKLY", ["2 rules"]),
    ("FREQ=DAILY;BYMONTH=2;BYMONTHDAY=30", ["the rule never fires"]),
    ("FREQ=DAILY;" + "BYHOUR=1," * 80 + "1", ["512"]),
    ("0 9 * * *", ["another kind of rule", "did you mean --cron '0 9 * * *'?"]),
]

OPTIONS = [
    # (options of create, code, what the message and hint must hold)
    ("", BAD_SCHEDULE, ["no rule was given", "--cron '0 9 * * MON-FRI'", "--every 90m"]),
    ("'0 2 * * *'", "invalid_input", ["no member of the payload", "did you mean --cron"]),
    ("@daily", "invalid_input", ["did you mean --cron '@daily'?"]),
    ("FREQ=DAILY", "invalid_input", ["did you mean --rrule 'FREQ=DAILY'?"]),
    ("name", "invalid_payload", ["'name'", "key:=json"]),
    ("nome=x --every 1h", "invalid_payload", ["nome"]),
    ("name:=x --every 1h", "not_json", ["name:=x"]),
    ("name=a --json {} --every 1h", "invalid_input", ["twice"]),
    ("--every", "invalid_input", ["--every needs a value"]),
    ("--every 90", BAD_SCHEDULE, ["interval", "90"]),
    ("--every soon", BAD_SCHEDULE, ["interval", "soon", "position 0"]),
    ("--every -5m", BAD_SCHEDULE, ["interval"]),
    ("--every 0s", BAD_SCHEDULE, ["interval"]),
    ("--every 500ms", BAD_SCHEDULE, ["interval"]),
    ("--every '1h from tomorrow'", BAD_SCHEDULE, ["tomorrow"]),
    ("--at 2030-02-30T09:00", BAD_SCHEDULE, ["2030-02-30T09:00 does not exist"]),
    ("--at 2030-01-31", BAD_SCHEDULE, ["a date without a time of day"]),
    ("--at tomorrow", BAD_SCHEDULE, ["tomorrow", "position 0"]),
    ("--at 2030-01-31T25:00", BAD_SCHEDULE, ["no time of day"]),
    ("--dates 2030-01-31T09:00,2030-02-01T09:00Z", BAD_SCHEDULE, ["mixed"]),
    ("--at 2020-01-31T09:00", "never_fires", ["no fire within"]),
    ("--when 'now and then'", BAD_SCHEDULE, ["minute"]),
    ("--cron '0 9 * * *' --tz Europe/Berln", "unknown_zone", ["Europe/Berln", "Europe/Berlin"]),
    ("--cron '0 9 * * *' --tz EST", "unknown_zone", ["EST", "America/New_York"]),
    ("--cron '0 9 * * *' --tz ''", "unknown_zone", ["''"]),
    ("--cron '0 9 * * *' --zone +25:00", "unknown_zone", ["+25:00"]),
    ("--every 1h --anchor noon", BAD_SCHEDULE, ["anchor", "noon"]),
    ("--every 1h --start 2027-01-01T09:00:00", "naive_datetime",
     ["start: '2027-01-01T09:00:00' has no time zone", "in UTC it is 2027-01-01T09:00:00+00:00"]),
    ("--every 1h --tz Europe/Berlin --end 2037-07-01", "naive_datetime",
     ["in Europe/Berlin it is 2037-07-01T00:00:00+02:00"]),
    ("--every 1h --start someday", "invalid_input", ["start: 'someday' is not an instant"]),
    ("--every 1h --end 2037-13-01T00:00:00Z", "invalid_input", ["end"]),
    ("--every 1h --start 2037-01-02T00:00:00Z --end 2037-01-01T00:00:00Z", BAD_SCHEDULE,
     ["before the start"]),
    ("--every 1h --end 2020-01-01T00:00:00Z", "never_fires", ["no fire"]),
    ("--every 1h --max-fires 0", BAD_SCHEDULE, ["max_fires"]),
    ("--every 1h --max-fires two", "invalid_input", ["'two' is not a whole number"]),
    ("--every 1h --dst-gap maybe", "invalid_input", ["maybe", "policy"]),
    ("--every 1h --dst-gap skp", "invalid_input", ["did you mean skip?"]),
    ("--every 1h --dst-fold third", "invalid_input", ["third"]),
    ("--every 1h --calendar holidays", BAD_SCHEDULE, ["no calendar 'holidays'"]),
    ("--every 1h --only-on holidays", BAD_SCHEDULE, ["no calendar 'holidays'"]),
    ("--every 1h --on-excluded tomorrow", "invalid_input", ["next_business_day"]),
    ("--every 1h --jitter 5", "invalid_duration", ["jitter", "'5'"]),
    ("--every 1h --jitter -5m", "invalid_duration", ["negative"]),
    ("--every 1h --jitter 500ms", BAD_SCHEDULE, ["whole number of seconds"]),
    ("--every 1h --jitter 900d", BAD_SCHEDULE, ["jitter_seconds"]),
    ("--every 1h --jitter-mode dice", "invalid_input", ["per_fire"]),
    ("--every 1h --misfire sometimes", BAD_SCHEDULE, ["misfire", "'sometimes'", "fire_once"]),
    ("--every 1h --misfire fire_onse", BAD_SCHEDULE, ["did you mean fire_once"]),
    ("--every 1h --misfire-threshold soon", "invalid_duration", ["misfire_threshold"]),
    ("--every 1h --misfire-threshold 900d", "invalid_input", ["misfire_threshold_seconds"]),
    ("--every 1h --catchup-window x", "invalid_duration", ["catchup_window"]),
    ("--every 1h --max-missed 0", "invalid_input", ["max_missed"]),
    ("--every 1h --catchup-rate 0", "invalid_input", ["catchup_rate"]),
    ("--every 1h --overlap perhaps", BAD_SCHEDULE, ["overlap", "cancel_running"]),
    ("--every 1h --overlap skip --allow-overlap", "invalid_input", ["both"]),
    ("--every 1h --pause-after-failures 0", "invalid_input", ["pause_after_failures"]),
    ("--every 1h --effect-key 'r-{{weak}}'", BAD_SCHEDULE, ["weak", "week"]),
    ("--every 1h --queue '!'", "invalid_input", ["queue"]),
    ("--every 1h --priority urgent", "unknown_option", ["critical, high, normal, low"]),
    ("--every 1h --max-attempts 0", "invalid_input", ["max_attempts"]),
    ("--every 1h --max-crashes 0", "invalid_input", ["max_crashes"]),
    ("--every 1h --backoff 1,2,3,4,5", "invalid_input", ["backoff", "5 parts"]),
    ("--every 1h --backoff fast", "invalid_duration", ["fast"]),
    ("--every 1h --timeout 0s", "invalid_duration", ["timeout"]),
    ("--every 1h --timeout x", "invalid_duration", ["timeout"]),
    ("--every 1h --on-exhausted '!'", "invalid_input", ["on_exhausted"]),
    ("--every 1h --tenant 'no tenant'", "invalid_input", ["tenant"]),
    ("--every 1h --note " + "n" * 1_001, "invalid_input", ["note", "1000"]),
    ("--every 1h --misfre skip", "unknown_option", ["did you mean --misfire?"]),
    ("--every 1h --columns nope", "unknown_option", ["'nope'"]),
]  # fmt: skip

COMMANDS = [
    # (command line, exit status, code, what the message and hint must hold)
    ("create", 2, "invalid_input", ["NAME is missing"]),
    ("create x", 2, "invalid_input", ["KIND is missing"]),
    ("create 'a b' greet --every 1h", 2, "invalid_input", ["'a b' is not a name"]),
    (f"create {NO_SCHEDULE} greet --every 1h", 2, "invalid_input", ["is an id"]),
    ("create nightly greet --every 1h", 6, "schedule_exists", ["nightly"]),
    ("create x gree --every 1h", 2, "unknown_kind", ["did you mean greet?"]),
    ("ls --state activee", 2, "unknown_option", ["did you mean active"]),
    ("ls --limit 0", 2, "invalid_input", ["limit"]),
    ("ls --limit 501", 2, "invalid_input", ["limit", "500"]),
    ("ls --after nope", 2, "invalid_id", ["sch_"]),
    ("ls extra", 2, "invalid_input", ["takes no 'extra'"]),
    ("ls --columns nope", 2, "unknown_option", ["'nope'"]),
    ("get", 2, "invalid_input", ["SCHEDULE is missing"]),
    ("get nightyl", 3, "not_found", ["did you mean nightly?"]),
    (f"get {NO_SCHEDULE}", 3, "not_found", [NO_SCHEDULE]),
    ("get nightly --tenant b", 3, "not_found", ["tenant b has no schedules"]),
    ("gte nightly", 2, "unknown_option", ["did you mean get?"]),
    ("next nightyl", 3, "not_found", ["nightly"]),
    ("next nightly -n 0", 2, "invalid_input", ["count"]),
    ("next nightly -n 501", 2, "invalid_input", ["count"]),
    ("next nightly --columns nope", 2, "unknown_option", ["'nope'"]),
    ("preview", 2, BAD_SCHEDULE, ["no rule was given"]),
    ("preview --cron '0 0 30 2 *'", 2, "never_fires", ["30 of month 2"]),
    ("preview --every 1h -n 0", 2, "invalid_input", ["count"]),
    ("preview --every 1h --tz Nowhere", 2, "unknown_zone", ["Nowhere"]),
    ("preview --every 1h --calendar holidays", 2, BAD_SCHEDULE, ["holidays"]),
    ("preview --every 1h --name 'a b'", 2, "invalid_input", ["'a b'"]),
    ("export nightyl", 3, "not_found", ["nightly"]),
    ("export -o csv", 2, "invalid_input", ["YAML or JSON"]),
    ("edit nightly", 2, "invalid_input", ["nothing was given"]),
    ("edit nightyl --every 1h", 3, "not_found", ["nightly"]),
    ("edit nightly --cron '61 * * * *'", 2, BAD_SCHEDULE, ["minute"]),
    ("edit nightly '0 3 * * *'", 2, "invalid_input", ["did you mean --cron"]),
    ("edit nightly --kind gree", 2, "unknown_kind", ["greet"]),
    ("edit nightly nome=x", 2, "invalid_payload", ["nome"]),
    ("edit nightly name=x --json {}", 2, "invalid_input", ["twice"]),
    ("edit nightly --json [1]", 2, "invalid_payload", ["must be an object"]),
    ("edit nightly --reset misfre", 2, "invalid_input", ["'misfre'", "did you mean misfire"]),
    ("edit nightly --tz Europe/Berln", 2, "unknown_zone", ["Europe/Berlin"]),
    ("edit nightly --overlap perhaps --dry-run", 2, BAD_SCHEDULE, ["overlap"]),
    ("edit nightly --end 2020-01-01T00:00:00Z", 2, "never_fires", ["no fire"]),
    ("pause", 2, "invalid_input", ["SCHEDULE"]),
    ("pause nightyl", 3, "not_found", ["nightly"]),
    ("pause nightly --until yesterday", 2, "invalid_duration", ["until"]),
    ("pause nightly --until 2020-01-01T00:00:00Z", 2, "invalid_input", ["has passed"]),
    ("pause nightly --until 2037-01-01T00:00:00", 2, "naive_datetime", ["until"]),
    ("pause nightly --until -2h", 2, "invalid_duration", ["negative"]),
    ("pause nightly --reason " + "r" * 1_001, 2, "invalid_input", ["reason", "1000"]),
    ("pause nightly --columns nope", 2, "unknown_option", ["'nope'", "changed"]),
    ("resume", 2, "invalid_input", ["SCHEDULE"]),
    ("resume nightyl", 3, "not_found", ["nightly"]),
    ("resume nightly --catch-upp", 2, "unknown_option", ["did you mean --catch-up?"]),
    ("trigger", 2, "invalid_input", ["SCHEDULE is missing"]),
    ("trigger nightyl", 3, "not_found", ["nightly"]),
    ("trigger nightly --wait-timeout soon", 2, "invalid_duration", ["wait-timeout"]),
    ("skip-next nightyl", 3, "not_found", ["nightly"]),
    ("skip-next nightly -n -1", 2, "invalid_input", ["count"]),
    ("skip-next nightly -n 99999999", 2, "invalid_input", ["count"]),
    ("skip-next nightly -n two", 2, "invalid_input", ["'two' is not a whole number"]),
    ("backfill nightly", 2, "invalid_input", ["--from"]),
    ("backfill nightyl --from 1d", 3, "not_found", ["nightly"]),
    ("backfill nightly --from yesterday", 2, "invalid_input", ["from: 'yesterday'"]),
    ("backfill nightly --from 2020-01-01T00:00:00", 2, "naive_datetime", ["from"]),
    ("backfill nightly --from 2020-01-01T00:00:00Z --to 2020-01-02", 2, "naive_datetime", ["to"]),
    ("backfill nightly --from 1d --to 2d", 2, "invalid_input", ["before from"]),
    ("backfill nightly --from 1d --to 2099-01-01T00:00:00Z", 2, "invalid_input",
     ["has not come yet"]),
    ("backfill minutely --from 2020-01-01T00:00:00Z", 6, "limit_reached",
     ["more than 10,000 fires", "backfill in parts: the first until 2020-01-"]),
    ("backfill nightly --from 1d --order middle", 2, "invalid_input", ["middle", "newest"]),
    ("backfill nightly --from 1d --concurrency 0", 2, "invalid_input", ["concurrency"]),
    ("backfill nightly --from 1d --concurrency many", 2, "invalid_input", ["'many'"]),
    ("backfill nightly --from 1d --reprocess some", 2, "invalid_input", ["some", "failed"]),
    ("backfill nightly --from 1d --wait-timeout x", 2, "invalid_duration", ["wait-timeout"]),
    ("backfills nightyl", 3, "not_found", ["nightly"]),
    ("cancel-backfill nope", 2, "invalid_id", ["bfl_"]),
    ("history nightyl", 3, "not_found", ["nightly"]),
    ("history nightly --outcome skipped", 2, "unknown_option", ["'skipped'", "skipped_paused"]),
    ("history nightly --since yesterday", 2, "invalid_input", ["since"]),
    ("history nightly --until 2027-01-01T00:00:00", 2, "naive_datetime", []),
    ("history nightly --limit 0", 2, "invalid_input", ["limit"]),
    ("trigger nightly --columns nope", 2, "unknown_option", ["'nope'"]),
    ("skip-next nightly --columns nope", 2, "unknown_option", ["'nope'"]),
    ("edit nightly --every 1h --columns nope", 2, "unknown_option", ["'nope'"]),
    ("backfill minutely --from 1m --columns nope", 2, "unknown_option", ["'nope'"]),
    ("audit", 2, "invalid_input", ["which schedules?", "--all"]),
    ("audit nightly --all", 2, "invalid_input", ["both"]),
    ("audit nightyl", 3, "not_found", ["nightly"]),
    ("audit nightly --from soon", 2, "invalid_input", ["from"]),
    ("audit nightly --from 1d --to 2d", 2, "invalid_input", ["before from"]),
    ("audit nightly --to 2027-01-01T00:00:00", 2, "naive_datetime", []),
    ("rm", 2, "invalid_input", ["SCHEDULE"]),
    ("rm nightyl --yes", 3, "not_found", ["nightly"]),
    ("rm nightly", 2, "invalid_input", ["remove 1 schedule; nothing was changed", "--yes"]),
    ("rm nightly minutely nightyl --yes", 3, "not_found", ["nightly"]),
    ("apply", 2, "invalid_input", ["FILE is missing"]),
    ("apply missing.yaml", 2, "invalid_input", ["'missing.yaml' cannot be read"]),
    ("apply --dry-rnu", 2, "unknown_option", ["--dry-rnu"]),
    ("apply .", 2, "invalid_input", ["cannot be read"]),
]  # fmt: skip


@pytest.fixture(scope="session")
def peopled(template: Path, tmp_path_factory: pytest.TempPathFactory) -> tuple[bytes, str]:
    """The bytes of a store with two schedules, and the digest of its rows; made once."""
    folder = tmp_path_factory.mktemp("peopled")
    commands = Commands(folder)
    commands.store.parent.mkdir()
    shutil.copy(template, commands.store)
    commands("schedules", "create", "nightly", "greet", "--cron", "0 2 * * *", expect=0)
    commands("schedules", "create", "minutely", "greet", "--cron", "* * * * *", expect=0)
    with sqlite3.connect(commands.store) as connection:
        connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    connection.close()
    return commands.store.read_bytes(), content(commands.store)


@pytest.fixture
def refused(here: Here, mainspring: Commands, peopled: tuple[bytes, str]) -> Callable[..., None]:
    """Run a command that must be refused, and look that it stored nothing."""
    kept, before = peopled
    mainspring.store.write_bytes(kept)

    def call(*words: str, code: int, name: str, said: list[str], stdin: bytes = b"") -> None:
        done = here(*words, stdin=stdin)
        assert (done.code, done.error_code) == (code, name), done
        done.assert_told()
        for part in said:
            assert part in done.err
        assert content(mainspring.store) == before

    return call


@pytest.mark.parametrize(("text", "said"), CRON, ids=lambda value: repr(value)[:40])
def test_malformed_cron_is_refused(
    refused: Callable[..., None], text: str, said: list[str]
) -> None:
    name = "never_fires" if "does not exist" in said[0] else BAD_SCHEDULE
    refused(*NEW.split(), "--cron", text, code=2, name=name, said=said)


@pytest.mark.parametrize(("text", "said"), RRULE, ids=lambda value: repr(value)[:40])
def test_rules_outside_the_subset_are_refused(
    refused: Callable[..., None], text: str, said: list[str]
) -> None:
    name = "never_fires" if "never fires" in said[0] else BAD_SCHEDULE
    refused(*NEW.split(), "--rrule", text, code=2, name=name, said=said)


@pytest.mark.parametrize(("line", "name", "said"), OPTIONS, ids=[row[0][:60] for row in OPTIONS])
def test_bad_options_are_refused(
    refused: Callable[..., None], line: str, name: str, said: list[str]
) -> None:
    refused(*NEW.split(), *shlex.split(line), code=2, name=name, said=said)


@pytest.mark.parametrize(
    ("line", "code", "name", "said"), COMMANDS, ids=[row[0][:60] for row in COMMANDS]
)
def test_bad_commands_are_refused(
    refused: Callable[..., None], line: str, code: int, name: str, said: list[str]
) -> None:
    refused("schedules", *shlex.split(line), code=code, name=name, said=said)
