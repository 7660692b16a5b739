"""The app whose jobs are submitted in callers' transactions."""

from mainspring import App, Context

app = App("shop")


@app.job()
def charge(order_id: int, note: str = "") -> int:
    return order_id


@app.job(queue="mail")
async def send(ctx: Context, to: str) -> None:
    ctx.log.info("sent", to=to)
