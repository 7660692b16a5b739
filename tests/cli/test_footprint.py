"""What looking at help and version brings along: nothing that runs or stores anything."""

import json
import subprocess
import sys

import pytest

from tests.cli.conftest import ROOT, environment

HEAVY = (
    "mainspring.store",
    "mainspring.integrations",
    "mainspring.worker",
    "mainspring.dispatcher",
    "mainspring.registry",
    "mainspring.maintenance",
    "mainspring.client",
    "mainspring.runtime.assemble",
    "mainspring.runtime.node",
    "sqlite3",
    "asyncpg",
    "uvloop",
    "obstore",
    "jsonschema_rs",
    "uuid_utils",
)
PROGRAM = """
import contextlib, io, json, sys
from mainspring.cli import main
with contextlib.redirect_stdout(io.StringIO()):
    code = main(sys.argv[1:])
print(json.dumps([code, sorted(sys.modules)]))
"""


def loaded_by(*words: str) -> set[str]:
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM, *words],
        cwd=ROOT,
        env=environment(),
        check=True,
        stdout=subprocess.PIPE,
    )
    code, modules = json.loads(done.stdout)
    assert code == 0
    return set(modules)


def heavy(modules: set[str]) -> set[str]:
    return {name for name in modules for part in HEAVY if f"{name}.".startswith(f"{part}.")}


@pytest.mark.parametrize(
    "line",
    ["--version", "--help", "version", "help exit-codes", "submit --help", "jobs ls --help",
     "worker start --help", "db migrate --help", "dlq --help", "schedules --help",
     "schedules create --help"],
)  # fmt: skip
def test_help_and_version_load_no_role_and_no_store(line: str) -> None:
    assert heavy(loaded_by(*line.split())) == set()


def test_the_version_needs_no_parser() -> None:
    assert not {"cyclopts", "rich", "msgspec"} & loaded_by("--version")


def test_the_root_help_loads_no_command() -> None:
    commands = {
        "submit",
        "jobs",
        "schedules",
        "dlq",
        "queues",
        "workers",
        "handlers",
        "db",
        "dev",
        "worker",
    }
    assert not {f"mainspring.cli.{name}" for name in commands} & loaded_by("--help")


def test_the_footprint_can_fail() -> None:
    assert heavy({"mainspring.store.sqlite.store", "sqlite3"}) == {
        "mainspring.store.sqlite.store",
        "sqlite3",
    }
