"""What an import brings along: a worker stays light, whatever is installed beside it.

import-linter does not see what the root package imports, so this looks at the modules themselves.
"""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
NEVER_IN_A_WORKER = [
    "mainspring.store",
    "mainspring.scheduler",
    "mainspring.dispatcher",
    "mainspring.server",
    "mainspring.registry",
    "mainspring.runtime",
    "mainspring.integrations",
    "mainspring.maintenance",
    "mainspring.cli",
    "asyncpg",
    "sqlite3",
    "obstore",
    "rich",
    "cyclopts",
]
PROGRAM = """
import json, sys, sysconfig
before = set(sys.modules)
__import__(sys.argv[1])
places = {sysconfig.get_path("purelib"), sysconfig.get_path("platlib")}
def is_installed(name):
    spec = getattr(sys.modules[name], "__spec__", None)
    return spec is not None and str(spec.origin).startswith(tuple(places))
new = set(sys.modules) - before
third_party = {name.partition(".")[0] for name in new if is_installed(name)}
print(json.dumps({"modules": sorted(new), "third_party": sorted(third_party)}))
"""


def imported_by(name: str, folder: Path = ROOT) -> tuple[set[str], set[str]]:
    """All modules, and the installed packages, that an import loads in a fresh interpreter."""
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM, name],
        cwd=folder,
        check=True,
        text=True,
        stdout=subprocess.PIPE,
    )
    answer = json.loads(done.stdout)
    return set(answer["modules"]), set(answer["third_party"])


def unwanted(modules: set[str]) -> set[str]:
    return {
        module
        for module in modules
        for banned in NEVER_IN_A_WORKER
        if module == banned or module.startswith(banned + ".")
    }


def test_a_worker_loads_no_other_role_and_no_driver() -> None:
    modules, _ = imported_by("mainspring.worker")
    assert unwanted(modules) == set()


def test_the_package_itself_needs_msgspec_at_most() -> None:
    _, third_party = imported_by("mainspring")
    assert third_party <= {"msgspec"}


def test_declaring_an_app_opens_and_brings_nothing_heavy() -> None:
    modules, third_party = imported_by("tests.client.shop")
    # msgspec looks for typing_extensions itself.
    heavy = unwanted(modules) - {"mainspring.runtime", "mainspring.runtime.application"}
    assert heavy == set()
    assert third_party <= {"msgspec", "typing_extensions"}
    assert "asyncio" not in imported_by("mainspring")[0]


@pytest.mark.parametrize(
    ("planted", "found"),
    [("import mainspring.store", "mainspring.store"), ("import sqlite3", "sqlite3")],
)
def test_the_footprint_can_fail(planted: str, found: str, tmp_path: Path) -> None:
    for name, text in {"": "", "store": "", "worker": planted}.items():
        folder = tmp_path / "mainspring" / name
        folder.mkdir() if name else folder.mkdir(parents=True)
        (folder / "__init__.py").write_text(text)
    modules, _ = imported_by("mainspring.worker", tmp_path)
    assert found in unwanted(modules)


def test_third_party_packages_are_seen(tmp_path: Path) -> None:
    (tmp_path / "mainspring").mkdir()
    (tmp_path / "mainspring" / "__init__.py").write_text("import attr, msgspec\n")
    _, third_party = imported_by("mainspring", tmp_path)
    assert {"attr", "msgspec"} <= third_party
