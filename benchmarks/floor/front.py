"""The floor of submissions over HTTP: the least that a server could do, in one process.

Raw ASGI and uvicorn; a body is decoded into a struct; concurrent requests share one insert and one
commit of bare SQL; each is answered after its commit. No keys, no limits, no problems, no schema.

``python -m benchmarks.floor.front DSN PORT``
"""

import asyncio
import sys
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any, Final

import asyncpg
import msgspec
import uvicorn

from mainspring.ports.clock import utc_now
from mainspring.ports.entropy import new_job_id
from mainspring.runtime.child_process import loop_factory
from mainspring.store.statements import numbered

_FOLDER: Final = Path(__file__).parent / "postgres"


class Body(msgspec.Struct):
    """What is posted."""

    kind: str
    payload: msgspec.Raw
    queue: str = "default"
    priority: str = "normal"


class Bare:
    """The application."""

    def __init__(self, connection: "asyncpg.Connection[asyncpg.Record]") -> None:
        self._connection = connection
        self._insert = numbered("insert", (_FOLDER / "insert.sql").read_text(encoding="utf-8"))
        self._decoder = msgspec.json.Decoder(Body)
        self._waiting: list[tuple[Any, asyncio.Future[None]]] = []
        self._is_busy = False

    async def __call__(
        self,
        scope: dict[str, Any],
        receive: Callable[[], Awaitable[dict[str, Any]]],
        send: Callable[[dict[str, Any]], Awaitable[None]],
    ) -> None:
        """Take one job in."""
        body = self._decoder.decode((await receive())["body"])
        job_id = new_job_id()
        payload = bytes(body.payload).decode()
        await self._inserted((job_id, utc_now(), 2, body.queue, body.kind, payload))
        answer = b'{"id":"%s"}' % job_id.hex().encode()
        headers = [
            (b"content-type", b"application/json"),
            (b"content-length", str(len(answer)).encode()),
        ]
        await send({"type": "http.response.start", "status": 201, "headers": headers})
        await send({"type": "http.response.body", "body": answer})

    async def _inserted(self, row: Any) -> None:
        done = asyncio.get_running_loop().create_future()
        self._waiting.append((row, done))
        if not self._is_busy:
            await self._send()
        await done

    async def _send(self) -> None:
        self._is_busy = True
        while self._waiting:
            group, self._waiting = self._waiting, []
            rows = [row for row, _ in group]
            await self._connection.execute(self._insert.text, *zip(*rows, strict=True))
            for _, done in group:
                done.set_result(None)
        self._is_busy = False


async def serve(dsn: str, port: int) -> None:
    """Serve until a signal ends it."""
    connection = await asyncpg.connect(dsn)
    await connection.set_type_codec(
        "uuid", schema="pg_catalog", encoder=bytes, decoder=bytes, format="binary"
    )
    await connection.execute((_FOLDER / "schema.sql").read_text(encoding="utf-8"))
    config = uvicorn.Config(
        Bare(connection),
        host="127.0.0.1",
        port=port,
        http="httptools",
        lifespan="off",
        log_config=None,
        access_log=False,
        proxy_headers=False,
        server_header=False,
        date_header=False,
    )
    await uvicorn.Server(config).serve()


if __name__ == "__main__":
    with asyncio.Runner(loop_factory=loop_factory()) as runner:
        runner.run(serve(sys.argv[1], int(sys.argv[2])))
