"""Handlers that end their attempt together with their own writes, and how they may die in between.

``moment``: ``commit`` all goes well; ``raise`` inside the block; ``before`` the process is killed
when the attempt has been settled but not committed; ``after`` right after the commit; ``stale`` the
job is taken away first.
"""

import asyncio
import os
import signal
import sqlite3
from typing import Any
from uuid import UUID

import asyncpg
import psycopg
import sqlalchemy
from django.db import connections
from django.db.utils import load_backend
from sqlalchemy.ext.asyncio import AsyncSession, create_async_engine
from sqlalchemy.orm import Session

from mainspring import App, Cancelled, Context, Retry
from mainspring.domain.errors import LeaseLost
from mainspring.domain.ids import parse_job
from mainspring.domain.job import Settled
from mainspring.runtime.borrowing import AttemptFinisher
from tests.transactions.ways import prepare_django

app = App("finishing")
ONCE = Retry(max_attempts=1)
INSERT = "INSERT INTO effects (job, attempt) VALUES ('{}', {})"
NEXT = "attempt = attempt + 1 WHERE id = ?"
_doomed = False
_check = AttemptFinisher._check


def check(self: AttemptFinisher, settled: Settled) -> None:
    """Die between the last statement and the commit, if that is wanted."""
    _check(self, settled)
    if _doomed:
        os.kill(os.getpid(), signal.SIGKILL)


AttemptFinisher._check = check  # type: ignore[method-assign]  # there is no other moment to die in


def url() -> str:
    return os.environ["MAINSPRING_STORE"]


def path() -> str:
    return url().removeprefix("sqlite:///")


def insert(ctx: Context) -> str:
    return INSERT.format(ctx.job_id, ctx.attempt)


def doom(ctx: Context, moment: str) -> None:
    global _doomed  # noqa: PLW0603 - one attempt at a time runs here
    _doomed = moment == "before" and ctx.attempt == 1


def inside(moment: str) -> None:
    if moment == "raise":
        raise RuntimeError("inside")


def outside(ctx: Context, moment: str) -> None:
    if moment == "after" and ctx.attempt == 1:
        os.kill(os.getpid(), signal.SIGKILL)


def take_away(ctx: Context, moment: str) -> None:
    """Let somebody else end the job, as a recovery does that found the lease run out."""
    if moment != "stale":
        return
    if url().startswith("sqlite"):
        with sqlite3.connect(path()) as connection:
            connection.execute(f"UPDATE jobs SET {NEXT}", (parse_job(ctx.job_id),))
        connection.close()
    else:
        with psycopg.connect(url()) as other:
            job_id = UUID(bytes=parse_job(ctx.job_id))
            text = f"UPDATE mainspring.jobs SET {NEXT.replace('?', '%s')}"
            other.execute(text.encode(), (job_id,))


def told(ctx: Context, code: str) -> None:
    if url().startswith("sqlite"):
        with sqlite3.connect(path()) as connection:
            connection.execute("INSERT INTO told (job, code) VALUES (?, ?)", (ctx.job_id, code))
        connection.close()
    else:
        with psycopg.connect(url()) as other:
            other.execute("INSERT INTO told (job, code) VALUES (%s, %s)", (ctx.job_id, code))


def blocking(ctx: Context, moment: str, connection: Any, execute: Any = None) -> str:
    """What every blocking handler does."""
    doom(ctx, moment)
    try:
        take_away(ctx, moment)
        with ctx.transaction(connection, result="early") as tx:
            (execute or tx.connection.execute)(insert(ctx))
            inside(moment)
            tx.result = "committed"
    except LeaseLost as error:
        told(ctx, error.code)
        raise
    except (Cancelled, asyncio.CancelledError):
        # The worker has heard of it first, and stops a handler that can be stopped.
        told(ctx, "stopped")
        raise
    outside(ctx, moment)
    return "returned"


async def awaiting(ctx: Context, moment: str, connection: Any, wrap: Any = str) -> None:
    """What every handler on the loop does."""
    doom(ctx, moment)
    try:
        take_away(ctx, moment)
        async with ctx.transaction(connection) as tx:
            await tx.connection.execute(wrap(insert(ctx)))
            inside(moment)
            tx.result = "committed"
    except LeaseLost as error:
        told(ctx, error.code)
        raise
    except (Cancelled, asyncio.CancelledError):
        # The worker has heard of it first, and stops a handler that can be stopped.
        told(ctx, "stopped")
        raise
    outside(ctx, moment)


@app.job(retry=ONCE)
def thread_psycopg(ctx: Context, moment: str) -> str:
    with psycopg.connect(url()) as connection:
        return blocking(ctx, moment, connection)


@app.job(retry=ONCE, isolated=True)
def isolated_psycopg(ctx: Context, moment: str) -> str:
    with psycopg.connect(url(), autocommit=True) as connection:
        return blocking(ctx, moment, connection)


@app.job(retry=ONCE)
def thread_sqlalchemy(ctx: Context, moment: str) -> str:
    address = url().replace("postgresql", "postgresql+psycopg", 1)
    engine = sqlalchemy.create_engine(address)
    with Session(engine) as session:
        return blocking(ctx, moment, session, lambda text: session.execute(sqlalchemy.text(text)))


# While the module is imported, as projects do it: the backend brings libraries in C, and threads of
# a worker that has begun are no place for that.
prepare_django()
load_backend("django.db.backends.postgresql")


@app.job(retry=ONCE)
def thread_django(ctx: Context, moment: str) -> str:
    if "own" not in connections.databases:
        parts = sqlalchemy.make_url(url())
        own = {
            "ENGINE": "django.db.backends.postgresql",
            "NAME": parts.database,
            "USER": parts.username or "",
            "HOST": parts.host or "",
            "PORT": str(parts.port or ""),
        }
        memory = {"ENGINE": "django.db.backends.sqlite3", "NAME": ":memory:"}
        found = connections.configure_settings({"default": memory, "own": own})
        connections.databases["own"] = found["own"]

    def execute(text: str) -> None:
        with connections["own"].cursor() as cursor:
            cursor.execute(text)

    return blocking(ctx, moment, "own", execute)


@app.job(retry=ONCE)
async def loop_asyncpg(ctx: Context, moment: str) -> None:
    connection = await asyncpg.connect(url())
    try:
        await awaiting(ctx, moment, connection)
    finally:
        await connection.close()


@app.job(retry=ONCE, isolated=True)
async def isolated_asyncpg(ctx: Context, moment: str) -> None:
    connection = await asyncpg.connect(url())
    try:
        await awaiting(ctx, moment, connection)
    finally:
        await connection.close()


@app.job(retry=ONCE)
async def loop_psycopg(ctx: Context, moment: str) -> None:
    async with await psycopg.AsyncConnection.connect(url()) as connection:
        await awaiting(ctx, moment, connection)


@app.job(retry=ONCE)
async def loop_sqlalchemy(ctx: Context, moment: str) -> None:
    engine = create_async_engine(url().replace("postgresql", "postgresql+asyncpg", 1))
    async with AsyncSession(engine) as session:
        await awaiting(ctx, moment, session, sqlalchemy.text)
    await engine.dispose()


@app.job(retry=ONCE)
async def loop_own(ctx: Context, moment: str) -> None:
    await awaiting(ctx, moment, None)


@app.job(retry=ONCE)
def thread_sqlite3(ctx: Context, moment: str) -> str:
    connection = sqlite3.connect(path())
    try:
        return blocking(ctx, moment, connection)
    finally:
        connection.close()


@app.job(retry=ONCE, isolated=True)
def isolated_sqlite3(ctx: Context, moment: str) -> str:
    connection = sqlite3.connect(path(), isolation_level=None)
    try:
        return blocking(ctx, moment, connection)
    finally:
        connection.close()


@app.job(retry=ONCE)
def thread_own(ctx: Context, moment: str) -> str:
    return blocking(ctx, moment, None)


@app.job(retry=ONCE)
async def loop_sqlalchemy_sqlite(ctx: Context, moment: str) -> None:
    engine = create_async_engine(f"sqlite+aiosqlite:///{path()}")
    async with AsyncSession(engine) as session:
        await awaiting(ctx, moment, session, sqlalchemy.text)
    await engine.dispose()
