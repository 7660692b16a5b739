"""An app whose lifespan fails."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from mainspring.app.declare import App
from tests.worker.apps import say


@asynccontextmanager
async def lifespan() -> AsyncIterator[None]:
    say("born")
    if app.name == "stillborn":
        message = "no database"
        raise RuntimeError(message)
    yield


app = App("stillborn", lifespan=lifespan)


@app.job()
async def nothing() -> None:
    return
