"""Every kind of bad input: one clear message, its code, its exit status, and nothing changed."""

import hashlib
import os
import shutil
import sqlite3
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.cli.conftest import Commands, environment

NO_PATH = "x" * 300 + "/y.db"
NO_JOB = "job_01JD3M0V5T7QK4C8R2N6W9XYZA"


def words(line: str) -> list[str]:
    return line.split()


BAD = [
    # (command line, exit status, code, what the message and hint must hold)
    ("submit gree name=Ada", 2, "unknown_kind", ["'gree'", "did you mean greet?"]),
    ("submit nothing-like-it", 2, "unknown_kind", ["known kinds: add"]),
    ("submit add a:=1 b=x", 2, "invalid_payload", ["/b", "integer", "handlers schema add"]),
    ("submit add a:=1", 2, "invalid_payload", ["b"]),
    ("submit greet nome=x", 2, "invalid_payload", ["nome"]),
    ("submit greet name:=NaN", 2, "not_json", ["name:=NaN"]),
    ('submit greet --json {"name":NaN}', 2, "not_json", []),
    ('submit greet --json {"name":"a","name":"b"}', 2, "invalid_payload", ["repeats a key"]),
    ("submit greet --json [1]", 2, "invalid_payload", ["must be an object"]),
    ('submit greet --json {"a":', 2, "not_json", []),
    ("submit greet name", 2, "invalid_payload", ["'name'", "key:=json"]),
    ("submit greet name=a name=b", 2, "invalid_payload", ["twice"]),
    ("submit greet name=a --json {}", 2, "invalid_input", ["twice"]),
    ("submit greet --json @missing.json", 2, "invalid_input", ["missing.json", "No such file"]),
    ("submit greet --at 2027-01-31T09:00:00", 2, "naive_datetime", ["no time zone"]),
    ("submit greet --at tomorrow", 2, "invalid_input", ["'tomorrow'"]),
    ("submit greet --delay -5s", 2, "invalid_duration", ["negative"]),
    ("submit greet --delay 5", 2, "invalid_duration", ["'5'", "90s"]),
    ("submit greet --delay 99999d", 2, "invalid_duration", ["ahead"]),
    ("submit greet --delay 5s --at 2027-01-31T09:00:00Z", 2, "invalid_input", ["both"]),
    ("submit greet --priority urgent", 2, "unknown_option", ["critical, high, normal, low"]),
    ("submit greet --priority hgih", 2, "unknown_option", ["'hgih'", "did you mean high?"]),
    ("submit greet --max-attempts 0", 2, "invalid_input", ["from 1 to"]),
    ("submit greet --max-attempts two", 2, "invalid_input", ["'two' is not a whole number"]),
    (
        "submit greet --timeout 0s",
        2,
        "invalid_duration",
        ["timeout: 0 ms is not within 1 ms to 7 d"],
    ),
    ("submit greet --unique-by nme", 2, "invalid_input", ["'nme'", "did you mean name?"]),
    ("submit greet --unique-by ,", 2, "invalid_input", ["unique-by"]),
    ("submit greet --on-duplicate reject", 2, "invalid_input", ["on_duplicate", "--unique"]),
    ("submit greet --tenant=", 2, "invalid_input", ["tenant: '' is not a name"]),
    ("submit greet --tenant -x", 2, "invalid_input", ["tenant: '-x' is not a name"]),
    ("submit greet --on-exhausted ad", 2, "unknown_kind", ["on_exhausted", "did you mean add?"]),
    ("submit greet --queue -x", 2, "invalid_input", ["queue: '-x' is not a name"]),
    ("submit greet --at -x", 2, "invalid_input", ["at: '-x' is not an instant"]),
    ("submit greet --key", 2, "invalid_input", ["--key needs a value"]),
    ("submit greet --queue !", 2, "invalid_input", ["queue"]),
    ("submit greet --wait-timeout soon", 2, "invalid_duration", ["wait-timeout"]),
    ("submit", 2, "invalid_input", ["KIND is missing"]),
    ("--vers", 2, "unknown_option", ["did you mean --version?"]),
    ("submit greet --quue x", 2, "unknown_option", ["--quue", "did you mean --queue?"]),
    ("submit greet --storr x", 2, "unknown_option", ["did you mean --store?"]),
    ("--storr x jobs ls", 2, "unknown_option", ["did you mean --store?"]),
    ("jbos", 2, "unknown_option", ['"jbos"', "did you mean jobs?"]),
    ("jobs gte", 2, "unknown_option", ["did you mean get?"]),
    ("jobs ls -o jsn", 2, "invalid_input", ['"jsn"', "jsonl", "did you mean json?"]),
    ("jobs ls -o xml", 2, "invalid_input", ['"xml"', '"yaml"']),
    ("handlers ls --columns kind,mod", 2, "unknown_option", ["'mod'", "did you mean mode?"]),
    ("handlers ls -o json --columns knd", 2, "unknown_option", ["'knd'", "did you mean kind?"]),
    ("handlers ls -o name --columns kind", 2, "invalid_input", ["names only"]),
    ("handlers ls --jq .[", 2, "invalid_input", ["jq:"]),
    ("handlers ls --jq .[0]|keys|.x", 2, "invalid_input", ["jq:"]),
    ("handlers ls -o csv --jq .", 2, "invalid_input", ["-o csv"]),
    ("jobs ls --profile nope", 2, "invalid_setting", ["'nope'", "config.toml"]),
    ("config explain storre", 3, "not_found", ["'storre'", "did you mean store?"]),
    ("config explain", 2, "invalid_input", ["KEY"]),
    ("jobs ls --limit 0", 2, "invalid_input", ["from 1 to 500"]),
    ("jobs ls --limit ten", 2, "invalid_input", ["--limit", "'ten' is not a whole number"]),
    ("jobs ls extra", 2, "invalid_input", ["takes no 'extra'"]),
    ("jobs ls --since yesterday", 2, "invalid_input", ["'yesterday'", "2h", "2027-01-31T"]),
    ("jobs ls --until -2h", 2, "invalid_duration", ["negative"]),
    ("dlq ls --since -2h", 2, "invalid_duration", ["negative"]),
    ("jobs ls --blobs nonsense", 2, "invalid_setting", ["'nonsense'", "file:///", "s3://"]),
    (f"init {NO_PATH}", 9, "store_not_writable", ["cannot be written: File name too long"]),
    ("init broken.py", 2, "invalid_input", ["broken.py is a file"]),
    ("jobs ls --state nope", 2, "unknown_option", ["'nope'", "succeeded"]),
    ("jobs ls --state readyy", 2, "unknown_option", ["'readyy'", "did you mean ready?"]),
    ("jobs ls --since 2027-01-31T09:00:00", 2, "naive_datetime", []),
    ("jobs ls --before nope", 2, "invalid_id", ["job_"]),
    ("jobs get nope", 2, "invalid_id", ["job_"]),
    ("jobs get job_SHORT", 2, "invalid_id", ["26"]),
    (f"jobs get {NO_JOB}", 3, "not_found", [NO_JOB]),
    (f"jobs watch {NO_JOB}", 3, "not_found", [NO_JOB]),
    (f"jobs logs {NO_JOB}", 3, "not_found", [NO_JOB]),
    (f"jobs retry {NO_JOB}", 3, "not_found", [NO_JOB]),
    (f"jobs cancel {NO_JOB}", 3, "not_found", [NO_JOB]),
    ("jobs cancel", 2, "invalid_input", ["JOB_ID"]),
    ("jobs cancel --yes --query=", 2, "invalid_input", ["-q: it is empty"]),
    ("jobs retry --yes --query=", 2, "invalid_input", ["-q: it is empty"]),
    ("jobs ls --query=", 2, "invalid_input", ["-q: it is empty"]),
    ("dlq replay --yes --query=", 2, "invalid_input", ["-q: it is empty"]),
    ("dlq purge --yes --query=", 2, "invalid_input", ["-q: it is empty"]),
    ("dlq discard --yes --query=", 2, "invalid_input", ["-q: it is empty"]),
    ("dlq export --query=", 2, "invalid_input", ["-q: it is empty"]),
    ("jobs retry", 2, "invalid_input", ["which jobs?", "-q"]),
    (f"jobs cancel {NO_JOB} --dry-run", 3, "not_found", [NO_JOB]),
    (f"jobs cancel {NO_JOB} --columns x", 2, "unknown_option", ["'x'", "changed"]),
    (f"jobs retry {NO_JOB} --columns x", 2, "unknown_option", ["'x'"]),
    (f"jobs wait {NO_JOB}", 3, "not_found", [NO_JOB]),
    (f"jobs wait {NO_JOB} --timeout soon", 2, "invalid_duration", ["timeout"]),
    (f"jobs explain {NO_JOB}", 3, "not_found", [NO_JOB]),
    ("jobs explain nope", 2, "invalid_id", ["job_"]),
    ("dlq replay", 2, "invalid_input", ["--kind"]),
    (f"dlq replay {NO_JOB}", 3, "not_found", [NO_JOB]),
    (f"dlq replay {NO_JOB} --all", 2, "invalid_input", ["both"]),
    ("dlq replay --all a=1", 2, "invalid_input", ["one job only"]),
    ("dlq replay --all --limit 0", 2, "invalid_input", ["between 1 and"]),
    ("dlq replay --all --columns x", 2, "unknown_option", ["'x'"]),
    ("dlq purge", 2, "invalid_input", ["which dead letters?"]),
    ("dlq discard --all --limit 99999", 2, "invalid_input", ["between 1 and"]),
    (f"dlq discard {NO_JOB}", 3, "not_found", [NO_JOB]),
    ("dlq export --to broken.py", 6, "conflict", ["broken.py", "--force"]),
    ("dlq export --to no/such/folder", 2, "invalid_input", ["No such file"]),
    (f"dlq get {NO_JOB}", 3, "not_found", [NO_JOB]),
    ("queues pause !", 2, "invalid_input", ["queue"]),
    ("queues pause defaultt", 3, "not_found", ["'defaultt'", "did you mean default?"]),
    ("queues resume elsewhere", 3, "not_found", ["'elsewhere'", "queues ls"]),
    ("queues get defaultt", 3, "not_found", ["did you mean default?"]),
    ("workers get nobody", 3, "not_found", ["nobody"]),
    ("workers get wrk_nope", 2, "invalid_id", ["wrk_"]),
    ("workers drain nobody", 3, "not_found", ["nobody"]),
    ("handlers get gree", 3, "not_found", ["did you mean greet?"]),
    ("worker start no_such_module:app", 2, "app_not_loaded", ["'no_such_module'"]),
    ("worker start json:loads", 2, "app_not_loaded", ["not a Mainspring App"]),
    ("worker start broken", 2, "app_not_loaded", ["ZeroDivisionError"]),
    ("worker start leaves", 2, "app_not_loaded", ["exit status 7"]),
    ("worker start mainspring.cli.tour:app --queues a:0", 2, "invalid_input", ["slots of a"]),
    ("worker start mainspring.cli.tour:app --queues a,a", 2, "invalid_input", ["twice"]),
    ("worker start mainspring.cli.tour:app --name=", 2, "invalid_input", ["name: ''"]),
    ("worker start mainspring.cli.tour:app --grace -1s", 2, "invalid_duration", ["negative"]),
    ("worker start mainspring.cli.tour:app --drain-timeout -1s", 2, "invalid_duration", ["neg"]),
    ("worker start mainspring.cli.tour:app --lease -1s", 2, "invalid_duration", ["negative"]),
    (
        "worker start mainspring.cli.tour:app --lease 1s",
        2,
        "invalid_duration",
        ["within 2 s to 1 h"],
    ),
    ("dev --drain-timeout -1s", 2, "invalid_duration", ["negative"]),
    ("worker start mainspring.cli.tour:app --processes 0", 2, "invalid_input", ["processes"]),
    ("worker start mainspring.cli.tour:app --log-level loud", 2, "invalid_setting", ["'loud'"]),
    ("dev --exit", 2, "invalid_input", ["--tour"]),
    ("dev mainspring.cli.tour:app --tour", 2, "invalid_input", ["example app"]),
    ("dev no_such_module", 2, "app_not_loaded", ["'no_such_module'"]),
    ("db migrate --phase later", 2, "invalid_input", ['"later"']),
    ("jobs ls --store mysql://h/d", 2, "invalid_setting", ["'mysql'", "postgresql://"]),
    ("jobs ls --store postgresql://me:geheim@h:port/d", 2, "invalid_setting", ["%40 for @"]),
    ("jobs ls --store nonsense", 2, "invalid_setting", ["'nonsense'"]),
    # A path that cannot even be looked at, as one in a folder that this user may not enter.
    (f"jobs ls --store sqlite:///{NO_PATH}", 9, "store_not_writable", ["cannot be created"]),
    (f"db status --store sqlite:///{NO_PATH}", 9, "store_not_writable", ["cannot be created"]),
    (f"dev --store sqlite:///{NO_PATH}", 9, "store_not_writable", ["cannot be made"]),
    ("jobs ls --store sqlite:///.", 2, "invalid_setting", ["folder"]),
    ("jobs ls --store sqlite:///broken.py", 2, "invalid_setting", ["not a SQLite database"]),
    ("jobs ls --store sqlite:///other.db", 6, "store_not_migrated", ["db migrate --store"]),
]


@pytest.mark.parametrize(("line", "code", "name", "said"), BAD, ids=[row[0][:60] for row in BAD])
def test_bad_input_is_told_and_changes_nothing(
    line: str, code: int, name: str, said: list[str], mainspring: Commands
) -> None:
    (mainspring.folder / "broken.py").write_text("app = 1 / 0\n" + "# words\n" * 200)
    (mainspring.folder / "leaves.py").write_text("import os\nos._exit(7)\n")
    before = content(mainspring.store)
    done = mainspring(*words(line))
    assert (done.code, done.error_code) == (code, name), done
    done.assert_told()
    for part in said:
        assert part in done.err
    assert content(mainspring.store) == before
    assert not (mainspring.folder / "other.db").exists()


def test_without_a_store_one_is_told_how_to_get_one(mainspring: Commands) -> None:
    mainspring.store.unlink()
    done = mainspring("jobs", "ls")
    assert (done.code, done.error_code) == (6, "store_not_migrated")
    assert "mainspring dev makes one here" in done.err
    assert not mainspring.store.exists()


def content(path: Path) -> str:
    """A digest of every row of every table."""
    with sqlite3.connect(path) as connection:
        lines = "\n".join(connection.iterdump())
    connection.close()
    return hashlib.sha256(lines.encode()).hexdigest()


def test_a_long_input_is_not_repeated_whole(mainspring: Commands) -> None:
    done = mainspring("submit", "greet", "--queue", "x" * 30_000)
    assert (done.code, done.error_code) == (2, "invalid_input")
    done.assert_told()
    assert "queue: 'xxx" in done.err
    assert "' is not a name" in done.err
    assert len(done.err) < 2_000


def test_a_payload_over_the_limit_is_refused(mainspring: Commands) -> None:
    body = b'{"name":"' + b"x" * 1_100_000 + b'"}'
    done = mainspring("submit", "greet", "--json", "-", stdin=body)
    assert (done.code, done.error_code) == (2, "payload_too_large")
    assert "1,048,576" in done.err


def test_a_payload_too_deep_is_refused(mainspring: Commands) -> None:
    body = b'{"name":' + b"[" * 5_000 + b"]" * 5_000 + b"}"
    done = mainspring("submit", "greet", "--json", "-", stdin=body)
    assert (done.code, done.error_code) == (2, "payload_too_deep")
    done = mainspring("submit", "greet", "name:=" + "[" * 5_000 + "]" * 5_000)
    assert (done.code, done.error_code) == (2, "payload_too_deep")


def test_bytes_that_are_no_text_are_refused(mainspring: Commands) -> None:
    command: list[str | bytes] = [sys.executable, "-m", "mainspring", "submit", "greet"]
    command.append(b"name=\xff")
    done = subprocess.run(
        command, cwd=mainspring.folder, env=environment(), capture_output=True, check=False
    )
    assert done.returncode == 2
    assert b"not UTF-8" in done.stderr


def test_a_key_with_another_body_conflicts(mainspring: Commands) -> None:
    first = mainspring("submit", "greet", "name=a", "--key", "k", expect=0).out.strip()
    again = mainspring("submit", "greet", "name=a", "--key", "k", expect=0).out.strip()
    assert first == again
    done = mainspring("submit", "greet", "name=b", "--key", "k")
    assert (done.code, done.error_code) == (6, "submission_key_reused")
    assert first in done.err


def test_an_unreachable_server_is_named_without_its_password(mainspring: Commands) -> None:
    done = mainspring("jobs", "ls", "--store", "postgresql://me:s3cret@127.0.0.1:1/shop")
    assert (done.code, done.error_code) == (9, "store_unreachable")
    assert "127.0.0.1:1/shop" in done.err
    assert "s3cret" not in done.out + done.err
    shown = mainspring("worker", "start", "mainspring.cli.tour:app", "--store",
                       "postgresql://me:s3cret@127.0.0.1:1/shop", "--debug")  # fmt: skip
    assert shown.code == 9
    assert "s3cret" not in shown.out


def test_a_store_that_is_newer_is_left_alone(mainspring: Commands) -> None:
    with sqlite3.connect(mainspring.store) as connection:
        columns = [row[1] for row in connection.execute("PRAGMA table_info(migrations)")]
        row = dict.fromkeys(columns, 1) | {"name": "9999_post_future", "checksum": "00"}
        marks = ", ".join("?" for _ in columns)
        connection.execute(f"INSERT INTO migrations VALUES ({marks})", list(row.values()))
    connection.close()
    for command in (["jobs", "ls"], ["db", "migrate"], ["submit", "greet"], ["dev"]):
        done = mainspring(*command)
        assert (done.code, done.error_code) == (6, "store_newer"), done
        assert "9999_post_future" in done.err
    status = mainspring("db", "status", "--check")
    assert status.code == 8
    assert "newer" in status.err


@pytest.fixture
def small_disk(tmp_path: Path, template: Path) -> Iterator[Path]:
    """A file system of 2 MiB with a store on it."""
    place = tmp_path / "disk"
    place.mkdir()
    if os.geteuid() != 0 or shutil.which("mount") is None:
        pytest.skip("only root can mount a small disk")
    mounting = ["mount", "-t", "tmpfs", "-o", "size=2m", "tmpfs", str(place)]
    mounted = subprocess.run(mounting, capture_output=True, text=True, check=False, timeout=10)
    if mounted.returncode != 0:
        pytest.skip(f"this machine lets nobody mount: {mounted.stderr.strip()}")
    shutil.copy(template, place / "store.db")
    yield place
    subprocess.run(["umount", "-l", str(place)], check=True, timeout=10)


def test_a_full_disk_is_told(mainspring: Commands, small_disk: Path) -> None:
    (small_disk / "hog").write_bytes(b"\x00" * fill(small_disk))
    store = f"sqlite:///{small_disk / 'store.db'}"
    done = mainspring("submit", "greet", "name=" + "x" * 12_000, "--store", store)
    assert (done.code, done.error_code) == (9, "store_not_writable"), done
    done.assert_told()
    assert str(small_disk) in done.err


def fill(place: Path) -> int:
    found = os.statvfs(place)
    return found.f_bavail * found.f_frsize


def test_a_read_only_store_is_told(mainspring: Commands, small_disk: Path) -> None:
    remounting = ["mount", "-o", "remount,ro", str(small_disk)]
    subprocess.run(remounting, check=True, timeout=10)
    done = mainspring("submit", "greet", "--store", f"sqlite:///{small_disk / 'store.db'}")
    assert (done.code, done.error_code) == (9, "store_not_writable"), done
    done.assert_told()


def test_dev_says_where_it_may_not_write(mainspring: Commands, small_disk: Path) -> None:
    subprocess.run(["mount", "-o", "remount,ro", str(small_disk)], check=True, timeout=10)
    done = mainspring("dev", "--store", f"sqlite:///{small_disk / 'sub' / 'dev.db'}")
    assert (done.code, done.error_code) == (9, "store_not_writable"), done
    assert str(small_disk / "sub") in done.err
