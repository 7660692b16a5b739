"""An app as users write them: what the tests of the kit run."""

import asyncio
import logging
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from mainspring import App, Context, Fail, Failure, FileRef, Retry, RetryAfter, Snooze


@dataclass
class Bank:
    """What the handlers depend on; a test brings its own, or the lifespan makes it."""

    name: str
    charged: list[int]


opened: list[str] = []


@asynccontextmanager
async def resources() -> AsyncIterator[Bank]:
    opened.append("open")
    try:
        yield Bank("real", [])
    finally:
        opened.append("closed")


app = App("shop", lifespan=resources)
flag: ContextVar[str] = ContextVar("flag", default="clean")


@app.job(queue="refunds")
def refund(failure: Failure) -> str:
    return failure.reason


@app.job(on_exhausted=refund, retry=Retry(max_attempts=3))
async def charge(ctx: Context[Bank], order_id: int, currency: str = "EUR") -> str:
    await asyncio.sleep(0)
    ctx.deps.charged.append(order_id)
    return f"{ctx.deps.name} took {order_id} {currency}"


@app.job(queue="mail", priority="high")
def send(to: str, at: datetime | None = None, body: Any = None) -> int:
    logging.getLogger("shop").warning("sent to %s", to)
    return len(to)


@app.job(isolated=True)
def resize(ctx: Context, pages: int) -> int:
    done = 0
    for page in range(pages):
        ctx.raise_if_cancelled()
        done = page + 1
        ctx.progress(done, pages, "resizing")
        ctx.log.info("page", number=page)
    return done


@app.job(heartbeat="30s")
async def wait(ctx: Context) -> str:
    ctx.progress(1)
    await asyncio.sleep(0)
    return "waited"


@app.job()
def echo(text: str) -> str:
    return text


@app.job()
def publish(ctx: Context, path: str) -> FileRef:
    return ctx.save_file(path)


@app.job()
def signal(name: str) -> None:
    match name:
        case "fail":
            raise Fail("no")
        case "later":
            raise RetryAfter("90s")
        case "snooze":
            raise Snooze("10m")
        case _:
            raise SystemExit(3)


@app.job()
def chain(left: int) -> None:
    if left:
        chain.submit(left - 1)


@app.job()
async def achain(left: int) -> None:
    if left:
        await achain.asubmit(left - 1)


@app.job()
def parent() -> int:
    return send.submit("child").result() + 1


@app.job()
async def async_parent() -> str:
    return await (await wait.asubmit()).aresult() + " by its parent"


@app.job()
def forever() -> None:
    forever.submit()


@app.job()
async def leak() -> str:
    before = flag.get()
    flag.set("dirty")
    return before
