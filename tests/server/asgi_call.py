"""The application of REST called without a socket: thousands of requests for little."""

import asyncio
from collections.abc import Sequence
from typing import Any, NamedTuple

from mainspring.server.http.asgi import Application

_PATIENCE_SECONDS = 20
Headers = Sequence[tuple[bytes, bytes]]


class Answered(NamedTuple):
    status: int
    headers: list[tuple[str, str]]
    body: bytes


async def call(
    application: Application, method: str, target: str, headers: Headers, body: bytes
) -> Answered:
    """Call it; whoever is answered by a stream of events leaves after the first."""
    path, _, query = target.partition("?")
    scope = {
        "type": "http",
        "method": method,
        "path": path,
        "raw_path": path.encode(),
        "query_string": query.encode(),
        "headers": headers,
        "client": ("127.0.0.1", 1),
    }
    left = asyncio.Event()
    came: list[dict[str, Any]] = [{"type": "http.request", "body": body}]
    status = 0
    found: list[tuple[str, str]] = []
    parts: list[bytes] = []

    async def receive() -> dict[str, Any]:
        if came:
            return came.pop()
        await left.wait()
        return {"type": "http.disconnect"}

    async def send(message: Any) -> None:
        nonlocal status
        if message["type"] == "http.response.start":
            status = message["status"]
            found.extend((name.decode(), value.decode()) for name, value in message["headers"])
            return
        parts.append(message["body"])
        if ("content-type", "text/event-stream") in found:
            left.set()

    async with asyncio.timeout(_PATIENCE_SECONDS):
        await application(scope, receive, send)
    return Answered(status, found, b"".join(parts))
