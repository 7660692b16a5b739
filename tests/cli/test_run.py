"""`mainspring run`: a handler here, in this process, and no store."""

import os
import pty
import subprocess
import sys
from pathlib import Path

import pytest

from tests.cli.conftest import Commands, environment

APP = """
import os
from contextlib import asynccontextmanager
from mainspring import App, Context, Fail, RetryAfter, Snooze

@asynccontextmanager
async def deps():
    print("opened", flush=True)
    yield {"db": "here"}
    print("closed", flush=True)

app = App("shop")
rich = App("rich", lifespan=deps)

@app.job()
async def add(a: int, b: int = 1) -> int:
    return a + b

@app.job()
def where(ctx: Context) -> dict[str, object]:
    ctx.log.info("looking", at=ctx.kind)
    ctx.progress(1, 2, "half")
    return {"pid": os.getppid(), "tries": ctx.tries, "key": ctx.idempotency_key[:4]}

@app.job()
def broken(how: str = "plain") -> None:
    if how == "fail":
        raise Fail("card declined")
    if how == "retry":
        raise RetryAfter("30s")
    if how == "snooze":
        raise Snooze("10m")
    value = {}["missing"]

@app.job(isolated=True)
def alone() -> str:
    return "here all the same"

@rich.job()
def use(ctx: Context) -> str:
    return ctx.deps["db"]

@rich.job()
async def ause(ctx: Context) -> str:
    return ctx.deps["db"]
"""


@pytest.fixture
def commands(tmp_path: Path) -> Commands:
    (tmp_path / "shop.py").write_text(APP)
    return Commands(tmp_path)


def test_it_runs_and_prints_the_result(commands: Commands) -> None:
    assert commands("run", "shop:app", "add", "a:=2", "b:=3", expect=0).out == "5\n"
    assert commands("run", "shop:app", "add", "--json", '{"a":1}', expect=0).out == "2\n"
    assert commands("run", "shop:app", "alone", expect=0).out == '"here all the same"\n'
    assert not (commands.folder / ".mainspring").exists()


def test_it_uses_the_project_s_app_from_any_folder_inside(commands: Commands) -> None:
    (commands.folder / "mainspring.toml").write_text('app = "shop:app"\n')
    inner = Commands(commands.folder / "a")
    inner.folder.mkdir()
    assert inner("run", "add", "a:=2", expect=0).out == "3\n"


def test_it_runs_in_this_process_and_shows_log_and_progress(commands: Commands) -> None:
    done = commands.cold("run", "shop:app", "where", "--attempt", "2")
    found = done.json()
    assert found["pid"] == os.getpid()
    assert (found["tries"], found["key"]) == (2, "job_")
    assert 'INFO    looking  {"at":"where"}' in done.err
    assert "50 %  half" in done.err


@pytest.mark.parametrize("kind", ["use", "ause"])
def test_the_lifespan_is_opened_and_closed(kind: str, commands: Commands) -> None:
    assert commands("run", "shop:rich", kind, expect=0).out.split() == [
        "opened",
        "closed",
        '"here"',
    ]


@pytest.mark.parametrize(
    ("how", "said"),
    [
        ("plain", "--pdb opens the debugger"),
        ("fail", "would not retry"),
        ("retry", "after the delay it asks for"),
        ("snooze", "not count this attempt"),
    ],
)
def test_a_failure_shows_the_handler_s_own_lines(how: str, said: str, commands: Commands) -> None:
    done = commands("run", "shop:app", "broken", f"how={how}")
    assert (done.code, done.error_code) == (5, "job_failed")
    assert said in done.err
    assert 'shop.py", line' in done.err
    assert "cli/run.py" not in done.err
    assert done.out == ""


@pytest.mark.parametrize(
    ("line", "code", "name", "said"),
    [
        ("run", 2, "invalid_input", "WORD"),
        ("run shop:app", 2, "invalid_input", "which kind?"),
        ("run shop:app ad", 2, "unknown_kind", "did you mean add?"),
        ("run shop:app zzz", 2, "unknown_kind", "known kinds: add"),
        ("run add a:=1", 2, "invalid_input", "mainspring.toml"),
        ("run shop:ap add", 2, "app_not_loaded", "did you mean shop:app?"),
        ("run nope:app add", 2, "app_not_loaded", "no module"),
        ("run shop:app add", 2, "invalid_payload", "a"),
        ("run shop:app add a=x", 2, "invalid_payload", "a"),
        ("run shop:app add a", 2, "invalid_payload", "key:=json"),
        ("run shop:app add a:=1 --attempt 0", 2, "invalid_input", "attempt"),
        ("run shop:app add a:=1 --attemptt 2", 2, "unknown_option", "did you mean --attempt?"),
    ],
)
def test_bad_input_is_told(line: str, code: int, name: str, said: str, commands: Commands) -> None:
    done = commands(*line.split())
    assert (done.code, done.error_code) == (code, name), done
    done.assert_told()
    assert said in done.err


def test_the_debugger_opens_where_it_fails(commands: Commands) -> None:
    outer, inner = pty.openpty()
    with subprocess.Popen(
        [sys.executable, "-m", "mainspring", "run", "shop:app", "broken", "--pdb"],
        cwd=commands.folder,
        env=environment(),
        stdin=inner,
        stdout=inner,
        stderr=inner,
        start_new_session=True,
    ) as process:
        os.close(inner)
        os.write(outer, b"p 'how is ' + how\nq\n")
        seen = b""
        while process.poll() is None or b"how is plain" not in seen:
            try:
                seen += os.read(outer, 4096)
            except OSError:
                break
        assert b"how is plain" in seen
        process.wait(40)
    os.close(outer)
    assert process.returncode == 5
