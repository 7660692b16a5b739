"""What may lie at the path, and what happens when it cannot be written."""

# ruff: noqa: ASYNC240 - files are what these tests are about

import asyncio
import os
import shutil
import sqlite3
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from mainspring.domain.errors import ConfigError, ConnectionFailed, StoreNotWritable
from mainspring.domain.states import JobState
from mainspring.store.sqlite import open_sqlite
from mainspring.testing.builders import new_job

NOBODY = 65_534


async def test_the_parent_folder_is_created(tmp_path: Path) -> None:
    path = tmp_path / "a" / "b" / "store.db"
    store = await open_sqlite(path)
    await store.migrate(phase="all")
    await store.close()
    assert path.is_file()


async def test_a_folder_is_no_store(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="is a folder") as caught:
        await open_sqlite(tmp_path)
    assert "name a file" in caught.value.hint


async def test_a_file_is_no_folder(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("x")
    with pytest.raises(ConfigError, match="is not a folder"):
        await open_sqlite(tmp_path / "file" / "store.db")


@pytest.mark.parametrize("content", [b"plain text, no database\n" * 100, b"\x00" * 4_096])
async def test_a_file_of_something_else_is_no_store(path: Path, content: bytes) -> None:
    path.write_bytes(content)
    with pytest.raises(ConfigError, match="is not a SQLite database"):
        await open_sqlite(path)
    assert path.read_bytes() == content


async def test_another_applications_database_is_left_alone(path: Path) -> None:
    other = sqlite3.connect(path)
    other.executescript("PRAGMA application_id = 252006673; CREATE TABLE jobs (x);")
    other.close()
    before = path.read_bytes()
    with pytest.raises(ConfigError, match="another application"):
        await open_sqlite(path)
    assert path.read_bytes() == before


async def test_names_that_are_taken_are_told(path: Path) -> None:
    other = sqlite3.connect(path)
    other.executescript("CREATE TABLE jobs (x); CREATE TABLE queues (x); CREATE TABLE mine (x);")
    other.close()
    store = await open_sqlite(path)
    with pytest.raises(ConfigError, match="tables of another application: jobs, queues"):
        await store.migrate(phase="all")
    await store.close()


async def test_the_tables_of_an_application_may_share_the_file(path: Path) -> None:
    other = sqlite3.connect(path)
    other.executescript("CREATE TABLE orders (id)")
    other.close()
    store = await open_sqlite(path)
    await store.migrate(phase="all")
    await store.submit([new_job()])
    await store.close()


async def test_a_damaged_file_is_told(path: Path) -> None:
    store = await open_sqlite(path)
    await store.migrate(phase="all")
    await store.submit([new_job(payload=b'"' + b"x" * 9_000 + b'"') for _ in range(200)])
    await store.close()
    with path.open("r+b") as file:
        file.seek(4_096)
        file.write(os.urandom(path.stat().st_size - 4_096))
    with pytest.raises(ConnectionFailed, match="is damaged"):
        await open_sqlite(path)


_OPEN_AND_WRITE = """
import asyncio, os, sys
from mainspring.domain.errors import MainspringError
from mainspring.store.sqlite import open_sqlite
from mainspring.testing.builders import new_job

async def write(path: str) -> None:
    store = await open_sqlite(path)
    await store.migrate(phase="all")
    await store.submit([new_job()])
    await store.close()

async def main() -> None:
    # Everything is loaded first: an unprivileged user may not be allowed to read this Python.
    await write(":memory:")
    os.setgid(int(sys.argv[2]))
    os.setuid(int(sys.argv[2]))
    try:
        await write(sys.argv[1])
    except MainspringError as error:
        print(error.code, error, sep=": ")

asyncio.run(main())
"""


def _as_nobody(path: Path) -> str:
    """Open and write as a user that may not: root may do everything."""
    if os.geteuid() != 0:
        pytest.skip("only root can become somebody who may not write")
    done = subprocess.run(
        [sys.executable, "-c", _OPEN_AND_WRITE, str(path), str(NOBODY)],
        capture_output=True,
        text=True,
        check=False,
        timeout=50,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.fixture
def open_folder() -> Iterator[Path]:
    """A folder that everybody can reach; pytest's own belong to their user alone."""
    folder = Path("/tmp") / f"mainspring-files-{os.getpid()}"
    folder.mkdir(mode=0o755)
    yield folder
    shutil.rmtree(folder)


def test_a_read_only_folder_is_told(open_folder: Path) -> None:
    assert _as_nobody(open_folder / "store.db").startswith("store_not_writable: ")
    assert _as_nobody(open_folder / "sub" / "store.db").startswith("store_not_writable: ")


def test_a_read_only_file_is_told(open_folder: Path) -> None:
    async def make() -> None:
        store = await open_sqlite(open_folder / "store.db")
        await store.migrate(phase="all")
        await store.close()

    asyncio.run(make())
    told = _as_nobody(open_folder / "store.db")
    assert told.startswith("store_not_writable: ")
    assert "is read-only" in told


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """A file system of 4 MiB."""
    place = tmp_path / "disk"
    place.mkdir()
    if os.geteuid() != 0 or shutil.which("mount") is None:
        pytest.skip("only root can mount a small disk")
    mounting = ["mount", "-t", "tmpfs", "-o", "size=4m", "tmpfs", str(place)]
    mounted = subprocess.run(mounting, capture_output=True, text=True, check=False, timeout=10)
    if mounted.returncode != 0:
        pytest.skip(f"this machine lets nobody mount: {mounted.stderr.strip()}")
    yield place
    subprocess.run(["umount", "-l", str(place)], check=True, timeout=10)


async def test_a_full_disk_loses_nothing_and_the_store_goes_on(small_disk: Path) -> None:
    path = small_disk / "store.db"
    reserve = small_disk / "reserve"
    reserve.write_bytes(b"\x00" * 1_500_000)
    store = await open_sqlite(path)
    await store.migrate(phase="all")
    acknowledged: set[bytes] = set()
    with pytest.raises(StoreNotWritable, match="no space is left") as caught:  # noqa: PT012
        for _ in range(2_000):
            job = new_job(payload=b'"' + b"x" * 8_000 + b'"')
            await store.submit([job])
            acknowledged.add(job.id)
    assert "free some space" in caught.value.hint
    assert len(await store.get_states(acknowledged)) == len(acknowledged)
    reserve.unlink()
    job = new_job()
    await store.submit([job])
    assert await store.count_states() == {JobState.READY: len(acknowledged) + 1}
    await store.close()
    check = sqlite3.connect(path)
    assert check.execute("PRAGMA integrity_check").fetchone() == ("ok",)
    check.close()


async def test_a_disk_that_is_full_from_the_start_is_told(small_disk: Path) -> None:
    (small_disk / "hog").write_bytes(b"\x00" * (4 * 1024 * 1024 - 8_192))
    with pytest.raises(StoreNotWritable):  # noqa: PT012 - on which of them is SQLite's affair
        store = await open_sqlite(small_disk / "store.db")
        try:
            await store.migrate(phase="all")
        finally:
            await store.close()
