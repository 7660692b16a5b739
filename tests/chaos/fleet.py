"""Worker processes under attack: started by the command line, killed and frozen by their pids."""

import contextlib
import os
import signal
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

import psutil

_REPOSITORY = Path(__file__).resolve().parents[2]


class Fleet:
    """Workers of one run. Everything that it started, it ends."""

    def __init__(
        self,
        store_url: str,
        folder: Path,
        *,
        lease_ms: int = 2_000,
        concurrency: int = 8,
        planted: str = "",
    ) -> None:
        self.folder = folder
        self.effects = folder / "effects.jsonl"
        self.effects.touch()
        self.disturbed_pids: set[int] = set()
        self._concurrency = concurrency
        self._lease_ms = lease_ms
        self._store_url = store_url
        self._planted = planted
        self._workers: list[subprocess.Popen[bytes]] = []
        self._frozen: set[int] = set()
        self._count = 0

    def start(
        self, *, processes: int = 1, through: str = "", environment: Mapping[str, str] | None = None
    ) -> int:
        """Start one worker, at another address of the store if told; return its keeper's pid."""
        self._count += 1
        log = (self.folder / f"worker-{self._count}.log").open("wb")
        command = [
            *(sys.executable, "-m", "mainspring", "worker", "start"),
            *("tests.chaos.chaos_app:app", "--store", through or self._store_url),
            *("--concurrency", str(self._concurrency), "--processes", str(processes)),
            *("--lease", f"{self._lease_ms}ms", "--grace", "1s", "--drain-timeout", "2s"),
        ]
        with log:
            worker = subprocess.Popen(
                command,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                cwd=_REPOSITORY,
                env={**self._environment(), **(environment or {})},
                start_new_session=True,
            )
        self._workers.append(worker)
        return worker.pid

    def living(self) -> list[int]:
        """Return the keepers that run, frozen ones not counted."""
        return [
            worker.pid
            for worker in self._workers
            if worker.poll() is None and worker.pid not in self._frozen
        ]

    def children(self, keeper: int) -> list[int]:
        """Return the child processes of a keeper."""
        try:
            return [child.pid for child in psutil.Process(keeper).children()]
        except psutil.NoSuchProcess:
            return []

    def kill_worker(self, keeper: int) -> None:
        """Kill the keeper as an out-of-memory killer would; its children die with it."""
        self.disturbed_pids.add(keeper)
        os.kill(keeper, signal.SIGKILL)

    def kill_child(self, keeper: int, number: int) -> bool:
        """Kill one child process of a keeper; the keeper goes on."""
        children = self.children(keeper)
        if not children:
            return False
        self.disturbed_pids.add(keeper)
        with contextlib.suppress(ProcessLookupError):
            os.kill(children[number % len(children)], signal.SIGKILL)
        return True

    def freeze(self, keeper: int, *, children: bool) -> None:
        """Stop the keeper, and its children with it if told, as a paused machine would."""
        self.disturbed_pids.add(keeper)
        self._frozen.add(keeper)
        os.kill(keeper, signal.SIGSTOP)
        for pid in self._tree(keeper) if children else []:
            # Processes of handlers come and go by themselves, between the look and the signal.
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGSTOP)

    def thaw(self, keeper: int) -> None:
        """Let everything of a frozen worker go on."""
        self._frozen.discard(keeper)
        for pid in [*self._tree(keeper), keeper]:
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGCONT)

    def disturb_all(self) -> None:
        """Count every worker as disturbed: the store itself went away."""
        self.disturbed_pids.update(worker.pid for worker in self._workers)

    def stop(self) -> list[int]:
        """Drain what lives and return the exit codes of those that were never killed."""
        for keeper in list(self._frozen):
            self.thaw(keeper)
        asked = [worker for worker in self._workers if worker.poll() is None]
        for worker in asked:
            worker.send_signal(signal.SIGTERM)
        codes = []
        for worker in asked:
            try:
                codes.append(worker.wait(20))
            except subprocess.TimeoutExpired:
                worker.kill()
                codes.append(worker.wait())
        return codes

    def logs(self) -> str:
        """Return what the workers said, for the message of a failing test."""
        texts = [
            f"--- {path.name}\n{path.read_text(errors='replace')[-4_000:]}"
            for path in sorted(self.folder.glob("worker-*.log"))
        ]
        return "\n".join(texts)

    def _tree(self, keeper: int) -> Sequence[int]:
        try:
            return [child.pid for child in psutil.Process(keeper).children(recursive=True)]
        except psutil.NoSuchProcess:
            return []

    def _environment(self) -> dict[str, str]:
        environment = dict(os.environ, CHAOS_EFFECTS=str(self.effects))
        environment["PYTHONPATH"] = str(_REPOSITORY)
        if self._planted:
            planted = str(_REPOSITORY / "tests" / "chaos" / "planted")
            environment["PYTHONPATH"] = f"{planted}:{_REPOSITORY}"
            environment["MAINSPRING_PLANTED_BUGS"] = self._planted
        return environment
