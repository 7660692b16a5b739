"""The handlers that are measured: one does nothing, the others tell when they began."""

from mainspring import App, Context
from mainspring.ports.clock import monotonic, utc_now

app = App("benchmarks")


@app.job()
async def nothing() -> None:
    return None


@app.job()
async def bill(  # noqa: PLR0913, PLR0917 - a payload as there are many
    customer: str,
    template: str,
    language: str,
    amount: float,
    currency: str,
    lines: list[dict[str, str | int]],
    note: str,
) -> None:
    """Do nothing with a payload of a usual size."""


@app.job()
async def tell_start() -> float:
    """Return when this began; the clock is the same for all processes of the machine."""
    return monotonic()


@app.job()
async def tell_lateness(ctx: Context) -> float:
    """Return how many seconds after its due instant this began; one machine, one clock."""
    return (utc_now() - ctx.due_at).total_seconds()
