"""Handlers that leave a trace of their own: one line in a plain file for each begin and each end.

The file is opened for appending and each line is one small write, so lines of many processes do not
mix. No part of the product touches it.
"""

import asyncio
import ctypes
import json
import os
import time
from functools import cache

from mainspring.app import backoff
from mainspring.app.context import Context
from mainspring.app.declare import App
from mainspring.app.retries import Retry

app = App("chaos")

#: Budgets that no run reaches by chance, so that a dead letter always means something.
TWICE = Retry(max_attempts=2, wait=backoff.exponential("10ms"))
STUBBORN = Retry(max_attempts=200, max_crashes=100, wait=backoff.exponential("10ms", cap="100ms"))


@cache
def _log() -> int:
    path = os.environ["CHAOS_EFFECTS"]
    return os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o644)


def note(ctx: Context[None], event: str) -> None:
    line = {"event": event, "job": ctx.job_id, "attempt": ctx.attempt, "pid": os.getpid()}
    os.write(_log(), json.dumps(line).encode() + b"\n")


def ended(ctx: Context[None]) -> dict[str, int]:
    note(ctx, "end")
    return {"attempt": ctx.attempt}


@app.job(retry=STUBBORN, timeout="60s")
async def work(ctx: Context[None], number: int, work_ms: int) -> dict[str, int]:
    """Work for a while; every 17th fails at its first try."""
    note(ctx, "begin")
    await asyncio.sleep(work_ms / 1_000)
    if number % 17 == 0 and ctx.tries == 1:
        message = "the first try of every 17th"
        raise RuntimeError(message)
    return ended(ctx)


@app.job(retry=STUBBORN, timeout="60s")
def work_in_thread(ctx: Context[None], number: int, work_ms: int) -> dict[str, int]:
    """Work in a thread."""
    note(ctx, "begin")
    time.sleep(work_ms / 1_000)
    return ended(ctx)


@app.job(retry=STUBBORN, timeout="60s", isolated=True)
def work_isolated(ctx: Context[None], number: int, work_ms: int) -> dict[str, int]:
    """Work in a process of its own."""
    note(ctx, "begin")
    time.sleep(work_ms / 1_000)
    return ended(ctx)


@app.job(retry=Retry(max_attempts=50, max_crashes=3))
async def exits(ctx: Context[None]) -> None:
    """Take the process down, every time: poison."""
    note(ctx, "begin")
    os._exit(7)


@app.job(retry=Retry(max_attempts=50, max_crashes=3))
def segfaults(ctx: Context[None]) -> None:
    """Read where nothing is."""
    note(ctx, "begin")
    ctypes.string_at(0)


@app.job(retry=TWICE, timeout="500ms")
async def blocks_the_loop(ctx: Context[None]) -> None:
    """Hold the loop of the child far beyond the timeout."""
    note(ctx, "begin")
    time.sleep(600)  # noqa: ASYNC251 - the bug is the point


@app.job(retry=TWICE, timeout="500ms")
def never_returns(ctx: Context[None]) -> None:
    """Hold a thread for ever."""
    note(ctx, "begin")
    while True:
        time.sleep(600)


@app.job(
    retry=Retry(max_attempts=2, wait=backoff.exponential("10ms")), timeout="500ms", isolated=True
)
def never_returns_isolated(ctx: Context[None]) -> None:
    """Hold a process for ever."""
    note(ctx, "begin")
    while True:
        time.sleep(600)
