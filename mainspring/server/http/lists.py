"""What every list can do: lead to its next page, and come whole, an item a line."""

from collections.abc import AsyncGenerator, Mapping
from typing import Any, Final, get_origin
from urllib.parse import parse_qsl, urlencode

import msgspec

from mainspring.domain.limits import PAGE_ITEMS_MAX
from mainspring.server.http.calls import Answer, Request, Stream
from mainspring.server.http.routing import Route
from mainspring.wire.documents.common import Listing

#: One JSON document a line.
LINES: Final = "application/x-ndjson"


def is_list(route: Route) -> bool:
    """Tell whether a route answers with a page of a list."""
    kind = get_origin(route.answer) or route.answer
    return route.method == "GET" and isinstance(kind, type) and issubclass(kind, Listing)


def wants_lines(headers: Mapping[str, str]) -> bool:
    """Tell whether all pages are to come as lines."""
    return LINES in headers.get("accept", "")


async def lines(route: Route, given: Mapping[str, Any], encoder: msgspec.json.Encoder) -> Stream:
    """Return all pages as lines; what is wrong with the question is told before the first."""
    query = given.get("query")
    if query is not None and hasattr(query, "limit"):
        # Whoever wants all of them is served by the largest pages.
        given = {**given, "query": msgspec.structs.replace(query, limit=PAGE_ITEMS_MAX)}
    first = _listing(await route.function(**given))

    async def chunks() -> AsyncGenerator[bytes, None]:
        page = first
        while True:
            yield encoder.encode_lines(page.items)
            if page.next_cursor is None:
                return
            further = msgspec.structs.replace(given["query"], cursor=page.next_cursor)
            page = _listing(await route.function(**{**given, "query": further}))

    return Stream(LINES, chunks())


def with_link(answer: Any, request: Request) -> Any:
    """Return a page with a header that leads to the next one."""
    page = _listing(answer)
    if page.next_cursor is None:
        return answer
    asked = parse_qsl(request.query.decode("ascii"), keep_blank_values=True)
    pairs = [(name, value) for name, value in asked if name != "cursor"]
    link = f"{request.path}?{urlencode([*pairs, ('cursor', page.next_cursor)])}"
    headers = answer.headers if isinstance(answer, Answer) else ()
    return Answer(page, headers=[*headers, ("link", f'<{link}>; rel="next"')])


def _listing(answer: Any) -> Listing[Any]:
    found = answer.document if isinstance(answer, Answer) else answer
    assert isinstance(found, Listing), "the table says so"
    return found
