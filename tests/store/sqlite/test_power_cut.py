"""The power goes: what the disk had at that instant must hold everything acknowledged.

An ext4 file system in a loop-mounted image, told to write its own journal every 300 s only. The
writer is frozen, the image is copied as it is (that is what reached the disk), the writer killed,
the copy mounted: its journal is replayed as after a cut, and SQLite recovers. It does not model a
disk that lies about its cache.
"""

# ruff: noqa: ASYNC240 - files are what these tests are about

import os
import random
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from mainspring.ports.clock import wait_seconds
from mainspring.store.sqlite import open_sqlite

ROOT = Path(__file__).parents[3]
IMAGE_BYTES = 48 * 1024 * 1024
CUTS = 5


def _sh(*command: str | Path) -> None:
    done = subprocess.run([*map(str, command)], capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise OSError(f"{command[0]}: {done.stderr.strip()}")


@contextmanager
def _mounted(image: Path, place: Path) -> Iterator[Path]:
    place.mkdir(exist_ok=True)
    _sh("mount", "-o", "loop,commit=300", image, place)
    try:
        yield place
    finally:
        _sh("umount", "-l", place)


@pytest.fixture
def image(tmp_path: Path) -> Path:
    if os.geteuid() != 0 or not all(map(shutil.which, ("mount", "mkfs.ext4", "losetup"))):
        pytest.skip("a power cut needs root, mount and mkfs.ext4")
    made = tmp_path / "disk.img"
    with made.open("wb") as file:
        file.truncate(IMAGE_BYTES)
    try:
        _sh("mkfs.ext4", "-q", "-F", made)
        with _mounted(made, tmp_path / "try"):
            pass
    except OSError as error:
        pytest.skip(f"this machine cannot mount an image: {error}")
    return made


@pytest.mark.slow
@pytest.mark.chaos
@pytest.mark.timeout(120)
async def test_nothing_acknowledged_is_lost(image: Path, tmp_path: Path) -> None:
    dice = random.Random(20270315)
    acknowledged: set[str] = set()
    for cut in range(CUTS):
        copy = tmp_path / f"after-{cut}.img"
        with _mounted(image, tmp_path / "live") as place:
            store = await open_sqlite(place / "store.db")
            await store.migrate(phase="all")
            await store.close()
            acknowledged |= _cut(image, copy, place / "store.db", dice.uniform(0.1, 0.6))
        image.unlink()
        image = copy
        with _mounted(image, tmp_path / "after") as place:
            recovered = await open_sqlite(place / "store.db")
            found = await recovered.get_states([bytes.fromhex(one) for one in acknowledged])
            await recovered.close()
        assert len(found) == len(acknowledged), f"cut {cut}"
    assert len(acknowledged) > CUTS


def _cut(image: Path, copy: Path, path: Path, after_seconds: float) -> set[str]:
    """Freeze a writer in the middle, keep what the disk has, and return what it had told."""
    child = subprocess.Popen(
        [sys.executable, "-m", "tests.store.sqlite.children", "submit", str(path)],
        cwd=ROOT,
        stdout=subprocess.PIPE,
        text=True,
    )
    assert child.stdout is not None
    assert child.stdout.readline() == "begun\n"
    wait_seconds(after_seconds)
    child.send_signal(signal.SIGSTOP)
    _sh("cp", "--sparse=always", image, copy)
    child.kill()
    return {line for line in child.communicate()[0].split("\n")[:-1] if line}
