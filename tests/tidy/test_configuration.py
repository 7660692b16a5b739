"""The configured tools bite too: banned calls, contracts between rooms, locks that fit."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tomllib
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).resolve().parents[2]
BINARIES = Path(sys.executable).parent
PROJECT: dict[str, Any] = tomllib.loads((ROOT / "pyproject.toml").read_text())


# --- banned calls -------------------------------------------------------------

BANNED_CALLS = {
    "from datetime import UTC, datetime\nNOW = datetime.now(UTC)\n": True,
    "from datetime import datetime\nNOW = datetime.utcnow()\n": True,
    "import time\nNOW = time.time()\n": True,
    "import time\nNOW = time.monotonic()\n": True,
    "import time\nNOW = time.perf_counter()\n": True,
    "import time\n\ntime.sleep(1)\n": True,
    "import random\nDICE = random.random()\n": True,
    "import secrets\nDICE = secrets.token_hex()\n": True,
    "import uuid\nID = uuid.uuid4()\n": True,
    "import pickle\nDATA = pickle.dumps(1)\n": True,
    "import asyncio\n\n\nasync def f() -> None:\n    await asyncio.sleep(1)\n": True,
    "import asyncio\n\n\nasync def f() -> None:\n    asyncio.create_task(f())\n": True,
    "from datetime import UTC, datetime\nEPOCH = datetime.fromtimestamp(0, tz=UTC)\n": False,
}


def ruff_findings(path: str, text: str) -> set[str]:
    """The codes that ruff gives to a text as if it lay at a path of the repository."""
    command = [str(BINARIES / "ruff"), "check", "--no-cache", "--output-format", "concise"]
    command += ["--stdin-filename", str(ROOT / path), "-"]
    done = subprocess.run(
        command, input=text, cwd=ROOT, check=False, text=True, stdout=subprocess.PIPE
    )
    return set(re.findall(r": ([A-Z]+\d+) ", done.stdout))


@pytest.mark.parametrize(("text", "is_banned"), BANNED_CALLS.items())
def test_time_and_dice_are_banned_in_product_code(text: str, is_banned: bool) -> None:
    assert ("TID251" in ruff_findings("mainspring/dispatcher/planted.py", text)) is is_banned


@pytest.mark.parametrize("owner", ["ports/clock.py", "ports/entropy.py", "runtime/loop.py"])
def test_their_owners_may(owner: str) -> None:
    text = "import random\nimport time\n\nNOW = time.monotonic() + random.random()\n"
    assert "TID251" not in ruff_findings(f"mainspring/{owner}", text)


def test_eval_is_banned() -> None:
    assert "S307" in ruff_findings("mainspring/app/planted.py", 'VALUE = eval("1")\n')


# --- contracts between rooms --------------------------------------------------

EXTRA_MODULES = ["store/postgres/pool", "store/sqlite/pool", "integrations/blobs"]
# Importing module, imported module, a word of the contract that must break.
VIOLATIONS = [
    ("worker", "mainspring.dispatcher", "look down"),
    ("worker", "mainspring.store", "look down"),
    ("worker", "mainspring.client", "look down"),
    ("app", "mainspring.worker", "look down"),
    ("telemetry", "mainspring.app", "look down"),
    ("ports", "mainspring.telemetry", "look down"),
    ("domain", "mainspring.policies", "look down"),
    ("runtime", "mainspring.cli", "look down"),
    ("testing", "mainspring.cli", "look down"),
    ("cli", "mainspring.store.postgres", "wires concrete"),
    ("store/sqlite", "mainspring.store.postgres", "unaware"),
    ("policies", "time", "pure rooms"),
    ("timetable", "time", "pure rooms"),
    ("timetable", "mainspring.policies", "look down"),
    ("domain", "random", "pure rooms"),
    ("store/sqlite", "asyncpg", "Drivers"),
    ("registry", "sqlite3", "Drivers"),
    ("runtime", "obstore", "Drivers"),
]


def room_names() -> list[str]:
    """All rooms of the contract, also those that do not exist yet."""
    contract = PROJECT["tool"]["importlinter"]["contracts"][0]
    return re.findall(r"\w+", " ".join(contract["layers"]))


def skeleton(root: Path) -> None:
    """Empty rooms with the modules that the contracts name, under the real configuration."""
    (root / "pyproject.toml").write_text((ROOT / "pyproject.toml").read_text())
    modules = ["", *room_names(), *EXTRA_MODULES]
    folders = {Path(name).parent if name in EXTRA_MODULES else Path(name) for name in modules}
    for folder in folders:
        (root / "mainspring" / folder).mkdir(parents=True, exist_ok=True)
        (root / "mainspring" / folder / "__init__.py").touch()
    for name in EXTRA_MODULES:
        (root / "mainspring" / f"{name}.py").touch()
    drivers = {"store/postgres": "asyncpg", "store/sqlite": "sqlite3", "integrations": "obstore"}
    for folder_name, driver in drivers.items():
        for module in (root / "mainspring" / folder_name).glob("*.py"):
            module.write_text(f"import {driver}\n")
    wiring = "import mainspring.store.postgres\nimport mainspring.integrations.blobs\n"
    (root / "mainspring" / "runtime" / "__init__.py").write_text(wiring)


def broken_imports(root: Path) -> set[tuple[str, str, str]]:
    """Contract, importer and imported module of everything that import-linter reports."""
    done = subprocess.run(
        [BINARIES / "lint-imports", "--no-cache", "--no-logo"],
        cwd=root,
        env={**os.environ, "COLUMNS": "200", "NO_COLOR": "1"},
        check=False,
        text=True,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
    )
    sections = re.split(
        r"^(.+)\n-+$", done.stdout.partition("Broken contracts")[2], flags=re.MULTILINE
    )
    found = {
        (contract, importer, imported)
        for contract, text in zip(sections[1::2], sections[2::2], strict=True)
        for importer, imported in re.findall(r"^-? +([\w.]+) -> ([\w.]+)", text, re.MULTILINE)
    }
    assert bool(found) == bool(done.returncode), done.stdout
    return found


def test_the_contracts_hold_on_empty_rooms(tmp_path: Path) -> None:
    skeleton(tmp_path)
    assert broken_imports(tmp_path) == set()


def test_contracts_bite(tmp_path: Path) -> None:
    skeleton(tmp_path)
    for importer, imported, _ in VIOLATIONS:
        with (tmp_path / "mainspring" / importer / "__init__.py").open("a") as module:
            module.write(f"import {imported}\n")
    broken = broken_imports(tmp_path)
    for importer, imported, contract in VIOLATIONS:
        pair = (f"mainspring.{importer.replace('/', '.')}", imported)
        assert any(contract in name and pair == tuple(rest) for name, *rest in broken), pair


def test_a_room_without_a_place_is_refused(tmp_path: Path) -> None:
    skeleton(tmp_path)
    (tmp_path / "mainspring" / "helpers").mkdir()
    (tmp_path / "mainspring" / "helpers" / "__init__.py").touch()
    with pytest.raises(AssertionError, match="helpers"):
        broken_imports(tmp_path)


def test_every_existing_room_is_required() -> None:
    """Brackets in the contract are for rooms to come: an existing room must have lost them."""
    layers = " ".join(PROJECT["tool"]["importlinter"]["contracts"][0]["layers"])
    optional = re.findall(r"\((\w+)\)", layers)
    assert [
        name for name in optional if (ROOT / "mainspring" / name / "__init__.py").exists()
    ] == []


# --- locks --------------------------------------------------------------------


def locked_versions(name: str) -> dict[str, str]:
    """Package and version of every line of a lock file; the last one wins where several fit."""
    text = (ROOT / "requirements" / name).read_text()
    return dict(re.findall(r"^([\w.-]+)==(\S+)", text, re.MULTILINE))


def wanted_by(groups: list[list[str]]) -> dict[str, str]:
    """Package and lower bound of direct dependencies."""
    lines = [line.partition(";")[0] for group in groups for line in group]
    found = (re.match(r"([\w-]+)(?:\[[\w,]+\])?>=([\d.]+)", line.strip()) for line in lines)
    return {match[1]: match[2] for match in found if match}


def as_numbers(version: str) -> list[int]:
    return [int(part) for part in re.findall(r"\d+", version)]


def test_the_locks_hold_every_direct_dependency() -> None:
    extras = PROJECT["project"]["optional-dependencies"]
    product = [PROJECT["project"]["dependencies"], *extras.values()]
    for lock, groups in {
        "run.txt": product,
        "dev.txt": [*product, *PROJECT["dependency-groups"].values()],
    }.items():
        locked = locked_versions(lock)
        wanted = wanted_by(groups)
        assert wanted
        for name, bound in wanted.items():
            assert as_numbers(locked[name]) >= as_numbers(bound), f"{lock}: {name}"


def test_the_locks_agree_and_carry_hashes() -> None:
    run, dev = locked_versions("run.txt"), locked_versions("dev.txt")
    assert {name: dev.get(name) for name in run} == run
    for lock in ("run.txt", "dev.txt", "uv.txt"):
        text = (ROOT / "requirements" / lock).read_text()
        pins = re.findall(r"^[\w.-]+==.*(?:\n .*)*", text, re.MULTILINE)
        assert pins
        assert all("--hash=sha256:" in pin for pin in pins), lock
