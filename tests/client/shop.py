"""The examples of the SDK as a real worker runs them."""

import contextlib
import tempfile
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import msgspec

from mainspring import App, Context, Fail, Failure, FileRef, Retry, RetryAfter, Snooze, backoff


@dataclass
class Deps:
    prices: dict[str, int]
    names: list[str]


@asynccontextmanager
async def resources() -> AsyncIterator[Deps]:
    yield Deps({"tea": 3}, ["resources"])


class TracingMiddleware:
    @contextlib.contextmanager
    def __call__(self, ctx: Context[Any]) -> Iterator[None]:
        ctx.log.info("span opened", kind=ctx.kind)
        yield
        ctx.log.info("span closed")


app = App("shop", lifespan=resources, middleware=[TracingMiddleware()])


# --- 1 and 2 ------------------------------------------------------------------------------------


@app.job(queue="mail", timeout="30s")
async def send_receipt(ctx: Context, order_id: int, *, copy_to: str | None = None) -> str:
    return f"msg-{order_id}"


class Busy(Exception):
    pass


@app.job(
    retry=Retry(
        max_attempts=6,
        wait=backoff.exponential("2s", cap="5m", jitter="full"),
        on=(OSError, Busy),
    ),
    timeout="2m",
    priority="high",
)
def sync_stock(shop_id: int, full: bool = False) -> int:
    return shop_id + full


# --- 8 and 9 ------------------------------------------------------------------------------------


@app.job()
async def resize(url: str) -> str:
    if not url:
        raise Fail("no url")
    return f"small {url}"


@app.job()
async def refresh(ctx: Context[Deps], sku: str) -> int:
    return ctx.deps.prices[sku]


# --- 3 and 10 -----------------------------------------------------------------------------------


class ReportSpec(msgspec.Struct, frozen=True):
    name: str
    pages: int = 2


@app.job(timeout="2h", heartbeat="30s")
def export(ctx: Context, report: ReportSpec) -> FileRef:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "report.csv"
        with path.open("w") as file:
            for page in range(report.pages):
                ctx.raise_if_cancelled()  # cooperative; also ends after timeout or lost lease
                ctx.progress(page + 1, report.pages, "writing")
                ctx.log.info("page written", page=page)
                file.write(f"{report.name},{page},{ctx.idempotency_key}\n")
        return ctx.save_file(path)  # a large result becomes a reference


# --- 11 -----------------------------------------------------------------------------------------


@app.job()
def refund_customer(failure: Failure) -> None:
    Path(failure.payload["note"] if failure.payload else "").write_text(failure.error_message)


class Declined(Exception):
    pass


@app.job(on_exhausted=refund_customer)
def charge(ctx: Context, order_id: int, note: str) -> str:
    if order_id == 1:
        try:
            raise Declined("no money")
        except Declined as error:
            raise Fail("card declined") from error
    if order_id == 2 and ctx.attempt == 1:
        raise Snooze("10ms")
    if order_id == 3 and ctx.tries == 1:
        raise RetryAfter("10ms")
    return ctx.idempotency_key


@app.job()
def place_order(order_id: int) -> list[str]:
    """Submit from inside a job: to the store of the worker."""
    return [send_receipt.submit(order_id).id]


@app.job()
async def place_order_async(order_id: int) -> list[str]:
    return [(await send_receipt.asubmit(order_id)).id]


@app.job(isolated=True)
def place_order_alone(order_id: int) -> list[str]:
    return [send_receipt.submit(order_id).id]
