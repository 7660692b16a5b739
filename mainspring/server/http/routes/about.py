"""What the server says of itself: its document."""

from functools import cache

import msgspec

from mainspring.server.http.routing import Routes, Table

routes = Routes("Server")


@cache
def document_text(table: Table) -> msgspec.Raw:
    """Return the OpenAPI document of a table."""
    from mainspring.server.http.openapi import document

    return msgspec.Raw(msgspec.json.encode(document(table)))


@routes.add("GET", "/api/v1/openapi.json", None)
async def openapi() -> msgspec.Raw:
    """Return this document: OpenAPI 3.1."""
    from mainspring.server.http.routes import TABLE

    return document_text(TABLE)
