"""The handlers that are measured: one does nothing, one tells when it began."""

from mainspring import App
from mainspring.ports.clock import monotonic

app = App("benchmarks")


@app.job()
async def nothing() -> None:
    return None


@app.job()
async def tell_start() -> float:
    """Return when this began; the clock is the same for all processes of the machine."""
    return monotonic()
