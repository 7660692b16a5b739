"""Runs the examples as their readers do: as programs, in a folder of their own."""

import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest

EXAMPLES = Path(__file__).parents[2] / "examples"
Run = Callable[..., str]


@pytest.fixture
def example(tmp_path: Path) -> Callable[[str], "Example"]:
    def copy(name: str) -> Example:
        folder = tmp_path / name
        shutil.copytree(EXAMPLES / name, folder, ignore=shutil.ignore_patterns("__pycache__"))
        return Example(folder)

    return copy


class Example:
    """A copy of one example, and the environment in which it runs."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        kept = {name: text for name, text in os.environ.items() if "MAINSPRING" not in name}
        self.environment = kept | {"TMPDIR": str(folder)}

    def run(self, *words: str, **environment: str) -> list[str]:
        """Run the example's Python with these words; return what it printed, line by line."""
        done = subprocess.run(
            [sys.executable, *words],
            cwd=self.folder,
            env=self.environment | environment,
            capture_output=True,
            text=True,
            timeout=50,
            check=False,
        )
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout.splitlines()

    def start(self, words: Sequence[str], **environment: str) -> subprocess.Popen[bytes]:
        """Start a program beside the test, in a group of its own."""
        log = (self.folder / "log").open("wb")
        with log:
            return subprocess.Popen(
                [sys.executable, *words],
                cwd=self.folder,
                env=self.environment | environment,
                stdout=log,
                stderr=log,
                process_group=0,
            )

    @property
    def log(self) -> str:
        """What the started program has said."""
        return (self.folder / "log").read_text()
