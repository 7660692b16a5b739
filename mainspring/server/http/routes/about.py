"""What the server says of itself: health, version, limits, the meaning of codes, its document."""

from functools import cache

import msgspec

from mainspring import __version__
from mainspring.domain.access import Right
from mainspring.domain.errors import BY_CODE, NotFound
from mainspring.domain.limits import LIMITS
from mainspring.domain.names import suggestion
from mainspring.server.http.calls import Call
from mainspring.server.http.routing import Routes, Table
from mainspring.wire.documents.common import Listing
from mainspring.wire.documents.server import (
    ErrorMeaning,
    HealthDocument,
    ServerDocument,
    error_meaning,
)

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


@routes.add("GET", "/livez", None)
async def livez() -> HealthDocument:
    """Say that the process answers, whatever becomes of its store."""
    return HealthDocument(status="alive")


@routes.add("GET", "/readyz", None)
async def readyz(call: Call) -> HealthDocument:
    """Say that the store answers: 503 while it does not."""
    await call.gateway.now()
    return HealthDocument(status="ready")


@routes.add("GET", "/api/v1/server", Right.HANDLERS_READ)
async def get_server(call: Call) -> ServerDocument:
    """Return the version, the clock that judges what is due, limits, and who asks."""
    return ServerDocument(
        version=__version__,
        now=await call.gateway.now(),
        grpc=call.house.grpc,
        principal=call.principal.name,
        tenant=call.principal.tenant,
        rights=sorted(right.value for right in call.principal.rights),
        limits={limit.name: limit.default for limit in LIMITS.values()},
    )


@routes.add("GET", "/api/v1/errors", None)
async def list_errors() -> Listing[ErrorMeaning]:
    """List every code that an error may have, with its meaning and what to do."""
    return Listing(items=[error_meaning(kind) for _, kind in sorted(BY_CODE.items())])


@routes.add("GET", "/api/v1/errors/{code}", None, errors=(NotFound,))
async def get_error(code: str) -> ErrorMeaning:
    """Return the meaning of a code: where ``type`` of a problem leads."""
    kind = BY_CODE.get(code)
    if kind is None:
        raise NotFound(
            f"there is no code {code[:80]!r}", hint=suggestion(code[:80], sorted(BY_CODE))
        )
    return error_meaning(kind)
