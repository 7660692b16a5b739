"""The jobs of this project. While ``mainspring dev`` runs, every save of this file is taken up."""

from mainspring import App, Context, Retry, backoff

app = App("starter")


class PaymentDown(Exception):
    """The payment provider does not answer."""


@app.job()
async def greet(name: str = "world") -> str:
    """Say hello."""
    return f"Hello, {name}"


@app.job(retry=Retry(max_attempts=3, wait=backoff.exponential("1s", jitter=0)), timeout="30s")
def charge(order: int) -> str:
    """Charge an order. Order 13 fails until you mend it here."""
    if order == 13:
        raise PaymentDown(f"order {order} was not charged")
    return f"order {order} charged"


@app.job(timeout="10m")
def report(ctx: Context, rows: int = 1_000) -> str:
    """Count rows, and show how far it is."""
    for done in range(0, rows + 1, 100):
        ctx.raise_if_cancelled()
        ctx.progress(done, rows, "counting")
    ctx.log.info("counted", rows=rows)
    return f"{rows} rows"
