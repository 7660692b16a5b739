"""The app of the worker that delivers webhooks: ``mainspring.runtime.webhook_app:app``.

Its handler reads secrets where they are kept, so it runs beside the store and nowhere else. Every
node that maintains starts such a worker when it is needed (``delivering``); it may be started by
hand as well: ``mainspring worker start mainspring.runtime.webhook_app:app``.
"""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Final

from mainspring.app.declare import App
from mainspring.kinds.webhook import Books, webhook
from mainspring.runtime.assemble import open_ready_store
from mainspring.runtime.settings import reach_words, read_settings


@asynccontextmanager
async def _books() -> AsyncIterator[Books]:
    # Not before: a child learns its settings after it has imported its app.
    store = await open_ready_store(read_settings())
    try:
        yield store
    finally:
        await store.close()


def _reachable() -> tuple[str, ...]:
    return reach_words(read_settings().webhook_reach)


app: Final = App("mainspring", lifespan=_books)
webhook(app, _reachable)
