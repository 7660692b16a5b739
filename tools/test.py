"""The gate: `python3 tools/test.py [--fast] [--only STEP] [pytest arguments]`.

Makes `.venv` when it is not there yet, runs every step even when one fails, and ends with a table
of the steps, a table of the servers that the tests met or left out, and pytest's own closing line.
The exit code is 0 when every step passed. It works from any folder.

Tests tell about servers through `.cache/servers-report.json`, an object by server name: `use`
("exercised", "left out" or "failed") and `detail` (the version, or the reason and the way out).
"""

from __future__ import annotations

import argparse
import concurrent.futures
import contextlib
import json
import os
import re
import signal
import subprocess
import sys
import threading
import time
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, NoReturn

import bootstrap

if TYPE_CHECKING:
    from collections.abc import Sequence
    from types import FrameType

ROOT = bootstrap.ROOT
CACHE = ROOT / ".cache"
SERVERS_REPORT = CACHE / "servers-report.json"
CLOSING_LINE = re.compile(r"^=+ .*\bin [0-9.]+s\b.* =+$|^no tests ran in .*$")
GRACE_SECONDS = 15
FAST_TESTS = ("tests/unit", "tests/tidy")
# A good part of the tests waits for processes, leases and deadlines: three keep two cores busy.
# Each takes a run of neighbours, which share what is made for a module, and then from the others.
DISTRIBUTION = ("-n", "3", "--dist", "worksteal")


@dataclass
class Step:
    """One step of the gate: what is run, and whether there is anything to run it on."""

    name: str
    command: list[str]
    missing: str = ""
    in_fast: bool = True
    outcome: str = "not run"
    seconds: float = 0.0
    closing_line: str = ""


def files_below(folder: str, pattern: str) -> list[str]:
    """Files of the repository, relative to its root, in a stable order."""
    return sorted(str(path.relative_to(ROOT)) for path in (ROOT / folder).rglob(pattern))


def sql_step(dialect: str, folder: str) -> Step:
    """Lint all SQL of one backend in its own dialect."""
    found = files_below(folder, "*.sql")
    command = ["sqlfluff", "lint", "--dialect", dialect]
    command += ["--disable-progress-bar", folder]
    return Step(f"sqlfluff {dialect}", command, "" if found else f"no .sql below {folder} yet")


def gate_steps(arguments: argparse.Namespace, pytest_arguments: Sequence[str]) -> list[Step]:
    """All steps, cheapest first."""
    migrations = files_below("mainspring/store/postgres/migrations", "*.sql")
    folders = ("mainspring", "tests", "tools", "benchmarks")
    typed = [name for name in folders if files_below(name, "*.py")]
    docs = ["sphinx-build", "-q", "-n", "-W", "--keep-going", "-b", "html"]
    docs += ["-d", str(CACHE / "docs-doctrees"), "docs", str(CACHE / "docs-html")]
    return [
        Step("ruff format", ["ruff", "format", "--check", "."]),
        Step("ruff check", ["ruff", "check", "--output-format", "concise", "."]),
        Step("mypy", ["mypy", "--no-error-summary", *typed]),
        Step(
            "lint-imports",
            ["lint-imports", "--no-logo", "--cache-dir", str(CACHE / "import-linter")],
        ),
        sql_step("postgres", "mainspring/store/postgres"),
        sql_step("sqlite", "mainspring/store/sqlite"),
        Step(
            "squawk",
            ["squawk", *migrations],
            "" if migrations else "no PostgreSQL migrations yet",
        ),
        Step("buf lint", ["buf", "lint", "proto"]),
        Step("buf breaking", ["buf", "breaking", "proto", "--against", "proto/accepted.binpb"]),
        Step("protobuf", ["python", "tools/protobuf.py", "--check"]),
        Step("typos", ["typos"]),
        Step("docs", docs, in_fast=False),
        pytest_step(pytest_arguments, fast=arguments.fast),
    ]


def pytest_step(pytest_arguments: Sequence[str], *, fast: bool) -> Step:
    """The tests: in three processes unless the caller says otherwise."""
    command = ["pytest"]
    if not any(re.match(r"-n\d*$|--numprocesses|--pdb|-p$", word) for word in pytest_arguments):
        command += DISTRIBUTION
    command += pytest_arguments
    if fast and not any((ROOT / word.split("::")[0]).exists() for word in pytest_arguments):
        command += [folder for folder in FAST_TESTS if (ROOT / folder).exists()]
    return Step("pytest", command)


# --- running ------------------------------------------------------------------


class Runner:
    """Runs steps, and ends what runs when the gate itself is ended."""

    def __init__(self, binaries: Path) -> None:
        self.binaries = binaries
        self.children: set[subprocess.Popen[bytes]] = set()
        self.stopping = threading.Event()
        self.printing = threading.Lock()

    def environment(self) -> dict[str, str]:
        """Put `.venv` first on PATH; nothing else differs from the caller's."""
        env = dict(os.environ)
        env["PATH"] = f"{self.binaries}{os.pathsep}{env.get('PATH', os.defpath)}"
        env["VIRTUAL_ENV"] = str(self.binaries.parent)
        return env

    def run_all(self, steps: Sequence[Step]) -> None:
        """Run the small steps two at a time, each telling at its end; then pytest."""
        with concurrent.futures.ThreadPoolExecutor(max_workers=2) as pool:
            small = [pool.submit(self.run, step) for step in steps if step.name != "pytest"]
            try:
                for running in small:
                    running.result()
            except KeyboardInterrupt:
                self.end_children()
                pool.shutdown(cancel_futures=True)
                raise
        for step in steps:
            if step.name == "pytest":
                self.run(step, stream=True)

    def run(self, step: Step, *, stream: bool = False) -> None:
        """Run one step, show its output, and note how it went."""
        if self.stopping.is_set():
            return
        if step.missing:
            step.outcome = f"left out: {step.missing}"
            self.show(step, b"")
            return
        if stream:
            print(f"== {step.name}", flush=True)
        started = time.monotonic()
        # An own process group: what the step starts in turn can be ended together with it.
        child = subprocess.Popen(
            [str(self.binaries / step.command[0]), *step.command[1:]],
            cwd=ROOT,
            env=self.environment(),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
        self.children.add(child)
        if self.stopping.is_set():
            end_group(child)
        output = read_output(child, stream=stream)
        code = child.wait()
        self.children.discard(child)
        step.seconds = time.monotonic() - started
        step.outcome = "passed" if code == 0 else f"FAILED (exit code {code})"
        step.closing_line = closing_line(output) if step.name == "pytest" else ""
        self.show(step, b"" if stream or code == 0 else output)

    def show(self, step: Step, output: bytes) -> None:
        """Print what a failed step said, then how the step went."""
        with self.printing:
            if output:
                sys.stdout.buffer.write(f"== {step.name}\n".encode() + output)
            took = f" in {step.seconds:.1f} s" if step.seconds else ""
            sys.stdout.buffer.write(f"== {step.name}: {step.outcome}{took}\n".encode())
            sys.stdout.buffer.flush()

    def end_children(self) -> None:
        """Ask what runs to stop, as Ctrl-C would; insist when it does not."""
        self.stopping.set()
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            # It is on its way; an impatient second Ctrl-C must not leave children behind.
            signal.signal(number, signal.SIG_IGN)
        for child in list(self.children):
            end_group(child)


def end_group(child: subprocess.Popen[bytes]) -> None:
    """End a process and everything in its group."""
    for number, patience_seconds in ((signal.SIGINT, GRACE_SECONDS), (signal.SIGTERM, 5)):
        try:
            os.killpg(child.pid, number)
            child.wait(timeout=patience_seconds)
        except ProcessLookupError:
            return
        except subprocess.TimeoutExpired:
            continue
        else:
            break
    # Also when the step itself is gone: something that it started may have stayed.
    with contextlib.suppress(ProcessLookupError):
        os.killpg(child.pid, signal.SIGKILL)


def read_output(child: subprocess.Popen[bytes], *, stream: bool) -> bytes:
    """Collect output until its end; copy it through as it comes when asked to."""
    assert child.stdout is not None
    chunks = []
    while chunk := os.read(child.stdout.fileno(), 65_536):
        chunks.append(chunk)
        if stream:
            sys.stdout.buffer.write(chunk)
            sys.stdout.buffer.flush()
    return b"".join(chunks)


def closing_line(output: bytes) -> str:
    """Pytest's closing line, the last one that looks like it."""
    lines = output.decode(errors="replace").splitlines()
    return next((line for line in reversed(lines) if CLOSING_LINE.match(line)), "")


def stop_on_signal(number: int, _frame: FrameType | None) -> NoReturn:
    """Turn the polite signals into the way that Ctrl-C takes."""
    raise KeyboardInterrupt(signal.Signals(number).name)


# --- telling ------------------------------------------------------------------


def print_table(title: str, rows: Sequence[Sequence[str]]) -> None:
    """Print rows in aligned columns."""
    print(f"\n{title}")
    widths = [max(len(row[column]) for row in rows) for column in range(len(rows[0]))]
    for row in rows:
        cells = (cell.ljust(width) for cell, width in zip(row, widths, strict=True))
        print("  " + "  ".join(cells).rstrip())


def server_rows() -> list[tuple[str, str, str]]:
    """What the tests reported about servers, or why there is nothing to tell."""
    try:
        report = json.loads(SERVERS_REPORT.read_text())
        return [(name, str(entry["use"]), str(entry["detail"])) for name, entry in report.items()]
    except FileNotFoundError:
        return []
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        return [("(unreadable)", SERVERS_REPORT.name, f"{type(error).__name__}: {error}")]


def tell(steps: Sequence[Step], seconds: float) -> None:
    """Print the tables and repeat pytest's closing line, so that it ends the output."""
    rows = [(step.name, f"{step.seconds:6.1f} s", step.outcome) for step in steps]
    print_table("Steps", rows)
    servers = server_rows()
    if servers:
        print_table("Servers and components in the tests", servers)
    else:
        print("\nServers and components in the tests\n  none was reported")
    failed = [step.name for step in steps if step.outcome.startswith("FAILED")]
    closing = next((step.closing_line for step in steps if step.closing_line), "")
    verdict = f"failed: {', '.join(failed)}" if failed else "every step passed"
    if any(step.outcome == "not run" for step in steps):
        verdict = "stopped before the end"
    print(f"\n{verdict} ({seconds:.1f} s)")
    if closing:
        print(closing, flush=True)


# --- entry --------------------------------------------------------------------


def parse_arguments(words: Sequence[str]) -> tuple[argparse.Namespace, list[str]]:
    """Our own options first; all that argparse does not know goes to pytest."""
    parser = argparse.ArgumentParser(
        description="Run the gate: lint, types, architecture, SQL, docs, tests.",
        epilog="All other arguments go to pytest, for example: -k lease -x tests/unit",
        allow_abbrev=False,
    )
    parser.add_argument(
        "--fast", action="store_true", help="without docs, and only tests/unit and tests/tidy"
    )
    parser.add_argument(
        "--only",
        action="append",
        metavar="STEP",
        help="run only the steps whose name contains STEP; may be given more than once",
    )
    parser.add_argument(
        "--no-apt",
        action="store_true",
        help="install no Debian package, as MAINSPRING_NO_APT=1 does",
    )
    return parser.parse_known_args(words)


def selected(steps: Sequence[Step], arguments: argparse.Namespace) -> list[Step]:
    """The steps that this call is about."""
    chosen = [step for step in steps if step.in_fast or not arguments.fast]
    if arguments.only:
        chosen = [step for step in chosen if any(word in step.name for word in arguments.only)]
    return chosen


def main() -> int:
    """Bootstrap, run, tell."""
    arguments, pytest_arguments = parse_arguments(sys.argv[1:])
    try:
        python = bootstrap.bootstrap(
            "dev", system_packages=not arguments.fast and not arguments.no_apt
        )
    except bootstrap.BootstrapError as error:
        print(f"test: {error}", file=sys.stderr)
        return 1
    CACHE.mkdir(exist_ok=True)
    SERVERS_REPORT.unlink(missing_ok=True)
    steps = selected(gate_steps(arguments, pytest_arguments), arguments)
    if not steps:
        print(f"test: no step is called {' or '.join(arguments.only)}", file=sys.stderr)
        return 2
    started = time.monotonic()
    runner = Runner(python.parent)
    signal.signal(signal.SIGTERM, stop_on_signal)
    signal.signal(signal.SIGHUP, stop_on_signal)
    try:
        runner.run_all(steps)
    except KeyboardInterrupt:
        print("\ntest: stopping what runs", file=sys.stderr, flush=True)
        runner.end_children()
        tell(steps, time.monotonic() - started)
        return 130
    tell(steps, time.monotonic() - started)
    return 1 if any(step.outcome.startswith("FAILED") for step in steps) else 0


if __name__ == "__main__":
    sys.exit(main())
