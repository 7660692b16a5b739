"""Handlers that behave well and badly. They tell a board what they do, so that no test sleeps."""

import asyncio
import contextlib
import contextvars
import ctypes
import logging
import os
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from mainspring.app.context import Context
from mainspring.app.declare import App
from mainspring.app.files import FileRef
from mainspring.app.signals import Cancelled, Fail, RetryAfter, Snooze
from mainspring.domain.errors import Conflict


def say(*words: object) -> None:
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as board:
        board.sendto(" ".join(map(str, words)).encode(), os.environ["BOARD"])


def pass_gate(name: str) -> None:
    """Wait until the test opens the gate."""
    fifo = Path(os.environ["GATES"]) / name
    with contextlib.suppress(FileExistsError):
        os.mkfifo(fifo)
    if not fifo.with_name(f"{name}.open").exists():
        with fifo.open("rb"):
            return


@asynccontextmanager
async def lifespan() -> AsyncIterator[dict[str, Any]]:
    say("lifespan", os.getpid())
    yield {"greeting": "hello", "pid": os.getpid()}
    say("farewell", os.getpid())


INSIDE: contextvars.ContextVar[tuple[str, ...]] = contextvars.ContextVar("inside", default=())


@contextlib.contextmanager
def outer(ctx: Context[Any]) -> Iterator[None]:
    with _inside("outer", ctx):
        yield


@contextlib.contextmanager
def inner(ctx: Context[Any]) -> Iterator[None]:
    with _inside("inner", ctx):
        yield


@contextlib.contextmanager
def _inside(name: str, ctx: Context[Any]) -> Iterator[None]:
    if ctx.kind != "surrounded" and not ctx.kind.startswith("surrounded_"):
        yield
        return
    token = INSIDE.set((*INSIDE.get(), f"{name} {threading.get_ident()} {os.getpid()}"))
    try:
        yield
    except Fail:
        say("left", name, "failed")
        raise
    else:
        say("left", name, "well")
    finally:
        INSIDE.reset(token)


app = App("tests", lifespan=lifespan, middleware=[outer, inner])


@app.job()
async def tell_fire(ctx: Context[Any]) -> list[str] | None:
    return told_of(ctx)


@app.job(isolated=True)
def tell_fire_alone(ctx: Context[Any]) -> list[str] | None:
    return told_of(ctx)


def told_of(ctx: Context[Any]) -> list[str] | None:
    fire = ctx.fire
    if fire is None:
        return None
    assert fire.started_at == ctx.started_at
    missed = fire.missed
    told = [fire.schedule, fire.local, fire.zone, fire.cause, fire.nominal_at.isoformat()]
    return told if missed is None else [*told, f"{missed.count} since {missed.first_at:%H:%M}"]


@app.job()
async def add(a: int, b: int) -> int:
    return a + b


@app.job()
async def nothing() -> None:
    return


@app.job()
def add_in_thread(a: int, b: int) -> dict[str, Any]:
    return {"sum": a + b, "thread": threading.current_thread().name}


@app.job(isolated=True)
def add_alone(a: int, b: int) -> dict[str, int]:
    return {"sum": a + b, "pid": os.getpid()}


@app.job(isolated=True)
async def add_alone_async(ctx: Context[dict[str, Any]], a: int, b: int) -> dict[str, int]:
    await asyncio.sleep(0)
    return {"sum": a + b, "pid": os.getpid(), "deps": ctx.deps["pid"]}


def _surroundings(fails: bool) -> list[str]:
    if fails:
        raise Fail("inside")
    return [*INSIDE.get(), f"handler {threading.get_ident()} {os.getpid()}"]


@app.job()
async def surrounded(fails: bool) -> list[str]:
    return _surroundings(fails)


@app.job()
def surrounded_in_thread(fails: bool) -> list[str]:
    return _surroundings(fails)


@app.job(isolated=True)
def surrounded_alone(fails: bool) -> list[str]:
    return _surroundings(fails)


@app.job(isolated=True)
async def surrounded_alone_async(fails: bool) -> list[str]:
    return _surroundings(fails)


@app.job()
async def greet(ctx: Context[dict[str, Any]]) -> dict[str, Any]:
    return {"deps": ctx.deps["greeting"], "key": ctx.idempotency_key, "attempt": ctx.attempt}


def _raise(how: str) -> None:
    match how:
        case "plain":
            raise ValueError("broken " + "x" * 100_000)
        case "fail":
            raise Fail("never")
        case "retry_after":
            raise RetryAfter("90s", "busy")
        case "snooze":
            raise Snooze("10m", "not yet")
        case "exit":
            sys.exit(7)
        case _:
            raise Unshowable


class Unshowable(Exception):
    def __str__(self) -> str:
        raise RuntimeError("no words")


@app.job()
async def misbehave(how: str) -> None:
    _raise(how)


@app.job()
def misbehave_in_thread(how: str) -> None:
    _raise(how)


@app.job(isolated=True)
def misbehave_alone(how: str) -> None:
    _raise(how)


# --- Those that save files ----------------------------------------------------------------------


def _written(path: str) -> str:
    Path(path).write_bytes(b"a,b\n" * 100_000)
    return path


@app.job()
def save_in_thread(ctx: Context, path: str, name: str) -> FileRef:
    return ctx.save_file(_written(path), name=name)


@app.job(isolated=True)
def save_alone(ctx: Context, path: str, name: str) -> FileRef:
    return ctx.save_file(_written(path), name=name)


@app.job()
async def save(ctx: Context, path: str, name: str) -> FileRef:
    with contextlib.suppress(Conflict):
        ctx.save_file(path)
        say("blocked")
    return await ctx.asave_file(_written(path), name=name)


@app.job(isolated=True)
async def save_alone_async(ctx: Context, path: str, name: str) -> FileRef:
    return await ctx.asave_file(_written(path), name=name)


# --- Those that must show signs of life ---------------------------------------------------------


def _live(ctx: Context, how: str, wait: Callable[[], None]) -> str:
    """Show life for longer than the heartbeat; ``how`` says by what, or that nothing comes."""
    say("alive", how)
    for step in range(8):
        match how:
            case "progress":
                ctx.progress(step)
            case "log":
                ctx.log.info("here")
            case "heartbeat":
                ctx.heartbeat()
            case _:
                pass
        ctx.raise_if_cancelled()
        wait()
    if how == "nothing":
        while not ctx.cancelled:
            wait()
        ctx.raise_if_cancelled()
    return "lived"


@app.job(heartbeat="1s")
def live_in_thread(ctx: Context, how: str) -> str:
    return _live(ctx, how, lambda: time.sleep(0.2))


@app.job(heartbeat="1s", isolated=True)
def live_alone(ctx: Context, how: str) -> str:
    return _live(ctx, how, lambda: time.sleep(0.2))


@app.job(heartbeat="1s")
async def live(ctx: Context, how: str) -> str:
    for _ in range(8):
        if how != "nothing":
            _live(ctx, how, lambda: None)
        await asyncio.sleep(0.2)
    if how == "nothing":
        await asyncio.sleep(60)
    return "lived"


# --- Those that take their time -----------------------------------------------------------------


@app.job()
async def hang() -> None:
    say("hang", os.getpid())
    await asyncio.Event().wait()


@app.job()
def hang_in_thread(ctx: Context[Any]) -> None:
    say("hang", os.getpid())
    pause = threading.Event()
    while True:
        ctx.raise_if_cancelled()
        pause.wait(0.01)


@app.job(isolated=True)
def hang_alone() -> None:
    say("hang", os.getpid())
    time.sleep(600)


@app.job(isolated=True)
async def hang_alone_async() -> None:
    say("hang", os.getpid())
    await asyncio.Event().wait()


@app.job()
async def stubborn() -> None:
    say("hang", os.getpid())
    while True:
        try:
            await asyncio.Event().wait()
        except asyncio.CancelledError:
            say("refused")


@app.job()
def stubborn_in_thread() -> None:
    say("hang", os.getpid())
    time.sleep(600)


@app.job(isolated=True)
def stubborn_alone() -> None:
    subprocess.Popen(["sleep", "600"])
    while True:
        try:
            say("hang", os.getpid())
            time.sleep(600)
        except Cancelled:
            say("refused")


@app.job()
async def swallow() -> str:
    say("hang", os.getpid())
    try:
        await asyncio.Event().wait()
    except asyncio.CancelledError:
        say("refused")
    return "done all the same"


@app.job()
async def gated(name: str) -> str:
    say("waiting", name)
    await asyncio.to_thread(pass_gate, name)
    return name


@app.job()
def gated_in_thread(name: str) -> str:
    say("waiting", name)
    pass_gate(name)
    return name


# --- Those that take their process with them ----------------------------------------------------


@app.job()
async def leave(code: int) -> None:
    os._exit(code)


@app.job()
def crash() -> None:
    ctypes.string_at(0)


@app.job(isolated=True)
def crash_alone() -> None:
    ctypes.string_at(0)


@app.job()
async def kill_self() -> None:
    os.kill(os.getpid(), signal.SIGKILL)


@app.job()
async def block(seconds: float) -> str:
    say("blocking", os.getpid())
    time.sleep(seconds)  # noqa: ASYNC251 - what bad handlers do
    return "awake"


@app.job()
async def crash_once(ctx: Context[Any]) -> dict[str, int]:
    if ctx.attempt == 1:
        os._exit(9)
    return {"pid": os.getpid(), "parent": os.getppid()}


# --- Those that talk ----------------------------------------------------------------------------


@app.job()
async def talk(ctx: Context[Any], lines: int) -> None:
    for number in range(lines):
        ctx.log.info("line", number=number)


@app.job()
async def talk_big(ctx: Context[Any]) -> None:
    ctx.log.warning("é" * 20_000, number=7, strange=object(), big="x" * 20_000)
    ctx.log.error("lone \ud800 surrogate")


_logger = logging.getLogger("shop.orders")


async def _log_later() -> None:
    await asyncio.sleep(0)
    _logger.warning("from a task")


@app.job()
async def use_logging() -> None:
    _logger.info("from %s", "the handler")
    _logger.debug("not seen")
    await asyncio.create_task(_log_later())


@app.job()
def use_logging_in_thread() -> None:
    _logger.info("from a thread")


@app.job(isolated=True)
def use_logging_alone(ctx: Context[Any]) -> None:
    _logger.info("from a process")
    ctx.log.info("by the context")
    ctx.progress(1, 2, "half")


@app.job()
async def move(ctx: Context[Any], name: str) -> None:
    for step in range(5):
        ctx.progress(step + 1, 5, f"step {step + 1}")
    await asyncio.to_thread(pass_gate, name)


_LEFT = contextvars.ContextVar("left", default="clean")


@app.job()
async def leak() -> str:
    found = _LEFT.get()
    _LEFT.set("left by another job")
    return found
