"""Searches as values: what ``client.jobs.find`` returns, on either face.

A search sends nothing before it is looked through; ``client.ops`` takes it, or its text.
"""

from collections.abc import AsyncIterator, Iterator
from datetime import datetime
from typing import Any, Final

from mainspring.app.rates import per_second
from mainspring.client.questions import check_place
from mainspring.domain.errors import InvalidInput
from mainspring.domain.job import JobView, Page
from mainspring.domain.limits import BULK_JOBS_MAX, PAGE_ITEMS_MAX
from mainspring.domain.names import check_flag, check_note, check_range
from mainspring.ports.door import Asking, Door
from mainspring.ports.gateway import Bulk, Operation

_PAGE_JOBS: Final = 100


class Search:
    """A search in the grammar of the command line: ``"state:dead kind:charge created:<1d"``."""

    def __init__(self, door: Door, query: str) -> None:
        """Keep the text; made by ``client.jobs.find``."""
        self._door = door
        self.query: str = text_of(query)

    def __repr__(self) -> str:
        """Show the text."""
        return f"<{type(self).__name__} {self.query!r}>"

    def _asking(self, limit: int, before: bytes | None) -> Asking[Page]:
        check_range("limit", limit, 1, PAGE_ITEMS_MAX)
        check_place(before)
        return lambda gateway: gateway.find(self.query, limit=limit, before=before)


class AsyncSearch(Search):
    """``async for job in client.jobs.find(...)``: newest first, page by page."""

    async def page(self, *, limit: int = _PAGE_JOBS, before: bytes | None = None) -> Page:
        """Return one page; ``before`` continues from the last one's ``next_before``."""
        return await self._door.aask(self._asking(limit, before))

    async def __aiter__(self) -> AsyncIterator[JobView]:
        """Yield every job that matches."""
        page = await self.page()
        while True:
            for job in page.items:
                yield job
            if page.next_before is None:
                return
            page = await self.page(before=page.next_before)


class BlockingSearch(Search):
    """``for job in client.jobs.find(...)``: newest first, page by page."""

    def page(self, *, limit: int = _PAGE_JOBS, before: bytes | None = None) -> Page:
        """Return one page; ``before`` continues from the last one's ``next_before``."""
        return self._door.ask(self._asking(limit, before))

    def __iter__(self) -> Iterator[JobView]:
        """Yield every job that matches."""
        page = self.page()
        while True:
            yield from page.items
            if page.next_before is None:
                return
            page = self.page(before=page.next_before)


def text_of(query: object) -> str:
    """Return the text of a search that was given as one or as itself."""
    if isinstance(query, Search):
        return query.query
    if isinstance(query, str) and query.strip():
        return query
    raise InvalidInput(
        f"query: {query!r} is no search", hint='write one: "state:dead kind:charge created:<1d"'
    )


def operation(
    door: Door, action: str, query: str | Search, *, dry_run: bool, **chosen: Any
) -> Asking[Operation]:
    """Ask to do something with everything that a search finds; the rest is the ``Bulk``'s."""
    rate: object = chosen.pop("rate")
    until: object = chosen["until"]
    if until is not None and not isinstance(until, datetime):
        raise InvalidInput(f"until: {until!r} is not an instant", hint="pass the operation's own")
    if until is not None and until.tzinfo is None:
        raise InvalidInput("until: it has no time zone", hint="pass the operation's own: op.until")
    check_range("limit", chosen["limit"], 1, BULK_JOBS_MAX)
    check_flag("dry_run", dry_run)
    check_flag("force", chosen.get("force", False))
    check_note("reason", chosen.get("reason", ""))
    a_second = None if rate is None else per_second(rate)
    wanted = Bulk(action=action, query=text_of(query), rate=a_second, **chosen)
    return lambda gateway: gateway.operate(wanted, dry_run=dry_run, actor=door.actor)
