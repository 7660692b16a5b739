"""`mainspring init`: a project that runs at once, and whose own tests pass."""

import os
import subprocess
import sys
import tomllib
from pathlib import Path

import yaml

from mainspring.cli.init import FILES
from tests.cli.conftest import ROOT, Commands, environment


def test_the_project_is_whole_and_passes_its_own_tests(tmp_path: Path) -> None:
    commands = Commands(tmp_path)
    done = commands("init", "my shop!", expect=0)
    assert done.out.splitlines() == [
        "Created my shop!/: app.py, test_app.py, mainspring.toml, compose.yaml",
        "Next: cd my shop! && mainspring dev",
    ]
    project = tmp_path / "my shop!"
    assert 'App("my-shop")' in (project / "app.py").read_text()
    settings = tomllib.loads((project / "mainspring.toml").read_text())
    assert settings == {"app": "app:app"}
    services = yaml.safe_load((project / "compose.yaml").read_text())["services"]
    assert set(services) == {"postgres", "worker"}
    tests = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "--rootdir", "."],
        cwd=project,
        env=environment() | {"PYTHONPATH": os.pathsep.join([str(ROOT), str(project)])},
        capture_output=True,
        text=True,
        check=False,
    )
    assert tests.returncode == 0, tests.stdout
    assert "4 passed" in tests.stdout
    inside = Commands(project)
    assert inside("config", "explain", "app", "-o", "json", expect=0).json()["value"] == "app:app"
    assert inside("run", "greet", "name=Ada", expect=0).out == '"Hello, Ada"\n'


def test_nothing_is_ever_replaced(tmp_path: Path) -> None:
    commands = Commands(tmp_path)
    for name in FILES:
        (tmp_path / name).write_text("mine")
        done = commands("init")
        assert (done.code, done.error_code) == (6, "conflict")
        assert name in done.err
        assert [path.name for path in tmp_path.iterdir()] == [name]
        assert (tmp_path / name).read_text() == "mine"
        (tmp_path / name).unlink()


def test_a_folder_that_cannot_be_is_told(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    done = Commands(tmp_path)("init", "file/below")
    assert (done.code, done.error_code) == (9, "store_not_writable")
    done.assert_told()


def test_a_dry_run_writes_nothing(tmp_path: Path) -> None:
    done = Commands(tmp_path)("init", "x", "--dry-run", expect=0)
    assert "Would create x/" in done.out
    assert "nothing was changed" in done.err
    assert not (tmp_path / "x").exists()


def test_machines_are_told_what_was_written(tmp_path: Path) -> None:
    found = Commands(tmp_path)("init", "-o", "json", expect=0).json()
    assert found == {"folder": ".", "files": list(FILES), "created": True}
