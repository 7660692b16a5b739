"""Scheduler processes under attack: started by the command line, killed and frozen."""

import os
import signal
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

import pytest

from mainspring.ports.clock import monotonic, pause_seconds

_PATIENCE_SECONDS = 60.0
_REPOSITORY = Path(__file__).resolve().parents[2]


class Schedulers:
    """Processes of ``mainspring scheduler start``. Everything that it started, it ends."""

    def __init__(self, store_url: str, folder: Path) -> None:
        self._store_url = store_url
        self._folder = folder
        self._living: list[subprocess.Popen[bytes]] = []
        self._frozen: list[subprocess.Popen[bytes]] = []
        self._count = 0

    def start(self, environment: Mapping[str, str] | None = None) -> None:
        """Start one more."""
        self._count += 1
        command = [
            *(sys.executable, "-m", "mainspring", "scheduler", "start"),
            *("--no-maintenance", "--store", self._store_url),
        ]
        with (self._folder / f"scheduler-{self._count}.log").open("wb") as log:
            self._living.append(
                subprocess.Popen(
                    command,
                    stdin=subprocess.DEVNULL,
                    stdout=log,
                    stderr=log,
                    cwd=_REPOSITORY,
                    env=dict(os.environ, **environment or {}),
                    start_new_session=True,
                )
            )

    async def until_up(self) -> None:
        """Wait until all that were started have the store open: before that they give up."""
        until = monotonic() + _PATIENCE_SECONDS
        for number in range(1, self._count + 1):
            log = self._folder / f"scheduler-{number}.log"
            while b"scheduler on" not in log.read_bytes():
                if monotonic() > until:
                    pytest.fail(f"a scheduler did not come up\n{self.logs()}")
                await pause_seconds(0.02)

    def kill(self, number: int) -> None:
        """Kill one of those that live, as an out-of-memory killer would."""
        scheduler = self._living.pop(number % len(self._living))
        scheduler.kill()
        scheduler.wait()

    def freeze(self, number: int) -> None:
        """Stop one of those that live, as a paused machine would."""
        scheduler = self._living.pop(number % len(self._living))
        scheduler.send_signal(signal.SIGSTOP)
        self._frozen.append(scheduler)

    def thaw(self) -> None:
        """Let all that are frozen go on."""
        while self._frozen:
            scheduler = self._frozen.pop()
            scheduler.send_signal(signal.SIGCONT)
            self._living.append(scheduler)

    def stop(self) -> list[int]:
        """End all that live; return their exit statuses."""
        self.thaw()
        for scheduler in self._living:
            scheduler.terminate()
        codes = []
        for scheduler in self._living:
            try:
                codes.append(scheduler.wait(20))
            except subprocess.TimeoutExpired:
                scheduler.kill()
                codes.append(scheduler.wait())
        self._living.clear()
        return codes

    def logs(self) -> str:
        """Return what they said, for the message of a failing test."""
        texts = [
            f"--- {path.name}\n{path.read_text(errors='replace')[-4_000:]}"
            for path in sorted(self._folder.glob("scheduler-*.log"))
        ]
        return "\n".join(texts)
