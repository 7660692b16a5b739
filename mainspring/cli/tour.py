"""The example app of ``mainspring dev``: one handler for each thing that is worth seeing."""

from typing import Final

from mainspring import App, Context, Retry, backoff
from mainspring.ports.clock import pause_seconds

app: Final = App("tour")


@app.job()
async def greet(name: str = "world") -> str:
    """Say hello."""
    return f"Hello, {name}"


@app.job()
def add(a: int, b: int) -> int:
    """Add two numbers; anything else is refused when it is submitted."""
    return a + b


@app.job(retry=Retry(max_attempts=5, wait=backoff.exponential("300ms", factor=1.5)))
async def flaky(ctx: Context, fails: int = 2) -> str:
    """Fail the first times, then succeed."""
    if ctx.tries <= fails:
        raise ConnectionError(f"the bank is down (try {ctx.tries})")
    return f"paid on try {ctx.tries}"


@app.job(retry=Retry(max_attempts=3, wait=backoff.exponential("200ms", factor=1.5)))
async def doomed(order: int = 13, works: bool = False) -> str:  # noqa: FBT001, FBT002 - a payload
    """Fail always, and end as a dead letter; replay it with works:=true."""
    if not works:
        raise ValueError(f"order {order} has no address")
    return f"order {order} sent"


@app.job()
async def slow(ctx: Context, steps: int = 10) -> str:
    """Take a while: shows progress and log lines, and stops when it is cancelled."""
    for step in range(steps):
        ctx.raise_if_cancelled()
        ctx.log.info("page written", page=step + 1)
        ctx.progress(step + 1, steps, "writing pages")
        await pause_seconds(0.2)
    return f"{steps} pages"


@app.job(isolated=True, timeout="1m")
def crunch(n: int = 200_000) -> int:
    """Keep a processor busy in a process of its own, which is really killed on timeout."""
    return sum(number * number for number in range(n)) % 1_000_007
