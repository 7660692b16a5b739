"""The kind ``command`` with real programs."""

import asyncio
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from mainspring import testing
from mainspring.app.declare import App, Job
from mainspring.app.signals import Fail
from mainspring.domain.errors import InvalidInput
from mainspring.kinds import command as module
from mainspring.kinds.command import Ran, UnexpectedExit, command

PYTHON = sys.executable


@pytest.fixture
def run() -> Job[..., Ran]:
    return command(App("programs"), [PYTHON, "sh", "true"])


async def ran(run: Job[..., Ran], *argv: str, **arguments: Any) -> Ran:
    return await run.arun(ctx=testing.context(), argv=list(argv), **arguments)


async def test_what_a_program_says_is_the_result(run: Job[..., Ran]) -> None:
    code = "import sys; print('out'); print('err', file=sys.stderr)"
    assert await ran(run, PYTHON, "-c", code) == Ran(0, "out\n", "err\n")


async def test_arguments_are_arguments(run: Job[..., Ran]) -> None:
    odd = ["; touch /tmp/x", "$(id)", "`id`", "a b", "*", "-rf", "", "\n", "'\""]
    done = await ran(run, PYTHON, "-c", "import sys; print(sys.argv[1:])", *odd)
    assert done.stdout.strip() == repr(odd)


async def test_only_programs_that_the_operator_named(run: Job[..., Ran]) -> None:
    for name in ("ls", "/bin/sh", "../sh", "./sh", "", "sh "):
        with pytest.raises(Fail, match="not among the programs of this worker"):
            await ran(run, name)


@pytest.mark.parametrize("name", ["no-such-program", "./sh", "bin/sh", "/no/such/file", ""])
def test_a_program_that_is_not_there_is_told_to_the_operator(name: str) -> None:
    with pytest.raises(InvalidInput, match="there is no program"):
        command(App("programs"), [name])


async def test_a_failure_shows_the_last_of_what_was_said(run: Job[..., Ran]) -> None:
    with pytest.raises(UnexpectedExit, match=r"ended with status 3: no disk"):
        await ran(run, "sh", "-c", "echo no disk >&2; exit 3")
    assert (await ran(run, "sh", "-c", "exit 3", expect=[0, 3])).exit_code == 3


async def test_it_gets_an_environment_of_its_own(
    run: Job[..., Ran], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MAINSPRING_STORE", "postgresql://user:secret@host/db")
    code = "import os, json; print(json.dumps([dict(os.environ), os.getcwd()]))"
    ctx = testing.context(effect_key="night-7")
    done = await run.arun(ctx=ctx, argv=[PYTHON, "-c", code], env={"MODE": "full"})
    assert "secret" not in done.stdout
    assert '"MODE": "full"' in done.stdout
    assert '"MAINSPRING_IDEMPOTENCY_KEY": "night-7"' in done.stdout
    assert "mainspring-command-" in done.stdout


async def test_folder_and_input(run: Job[..., Ran], tmp_path: Path) -> None:
    done = await ran(run, "sh", "-c", "pwd; cat", folder=str(tmp_path), stdin="hällo")
    assert done.stdout == f"{tmp_path}\nhällo"
    for wrong in ("relative", str(tmp_path / "missing"), "/tmp\0"):
        with pytest.raises(Fail, match="not the absolute path of a folder"):
            await ran(run, "true", folder=wrong)


async def test_input_that_nobody_reads_is_no_failure(run: Job[..., Ran]) -> None:
    assert (await ran(run, "true", stdin="x" * 1_000_000)).exit_code == 0


async def test_the_end_of_a_flood_is_kept(run: Job[..., Ran]) -> None:
    code = "import sys\nfor n in range(100_000): print(n)\nprint('the end')"
    done = await ran(run, PYTHON, "-c", code, output_bytes=100)
    assert done.is_cut
    assert len(done.stdout) <= 100
    assert done.stdout.endswith("the end\n")


async def test_memory_has_a_limit(run: Job[..., Ran]) -> None:
    with pytest.raises(UnexpectedExit, match="MemoryError"):
        await ran(run, PYTHON, "-c", "x = bytearray(1 << 30)", memory_mb=200)


async def test_processor_time_has_a_limit(run: Job[..., Ran]) -> None:
    with pytest.raises(UnexpectedExit, match=r"SIGXCPU|SIGKILL"):
        await ran(run, PYTHON, "-c", "while True: pass", cpu_seconds=1)


def _ends(path: Path) -> asyncio.Future[bytes]:
    """The end of all who hold a pipe open: reading it ends when the last of them has gone."""
    os.mkfifo(path)
    return asyncio.ensure_future(asyncio.to_thread(path.read_bytes))


async def test_a_cancelled_program_is_gone_with_all_its_children(
    run: Job[..., Ran], tmp_path: Path
) -> None:
    begun, held = tmp_path / "begun", tmp_path / "held"
    os.mkfifo(begun)
    over = _ends(held)
    script = f"exec 3>{held}; sleep 600 & echo yes > {begun}; wait"
    running = asyncio.ensure_future(ran(run, "sh", "-c", script))
    assert await asyncio.to_thread(begun.read_text) == "yes\n"
    running.cancel()
    with pytest.raises(asyncio.CancelledError):
        await running
    assert await over == b""


async def test_what_it_leaves_behind_ends_with_it(run: Job[..., Ran], tmp_path: Path) -> None:
    held = tmp_path / "held"
    over = _ends(held)
    done = await ran(run, "sh", "-c", f"exec 3>{held}; sleep 600 & echo done")
    assert done.stdout == "done\n"
    assert await over == b""


async def test_a_program_that_cannot_be_started_is_not_tried_again(tmp_path: Path) -> None:
    odd = tmp_path / "odd"
    odd.write_text("#!/no/such/interpreter\n")
    odd.chmod(0o755)
    with pytest.raises(Fail, match="cannot be started"):
        await ran(command(App("programs"), [str(odd)]), str(odd))


@pytest.mark.parametrize("env", [{"": "x"}, {"A=B": "x"}, {"A\0": "x"}, {"A": "x\0"}])
async def test_variables_that_cannot_be(run: Job[..., Ran], env: dict[str, str]) -> None:
    with pytest.raises(Fail, match="env"):
        await ran(run, "true", env=env)


def test_the_launcher_refuses_to_run_for_a_stranger() -> None:
    words = ["0", "0", "1", "/bin/true", "true"]
    done = subprocess.run([sys.executable, "-I", "-S", module._LAUNCHER, *words], check=False)
    assert done.returncode == 1
