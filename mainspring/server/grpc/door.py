"""The server itself: its table of methods, health, reflection, limits, opening and closing."""

from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from typing import Any, Final

import grpc
from grpc_health.v1 import health, health_pb2, health_pb2_grpc
from grpc_reflection.v1alpha import reflection, reflection_pb2_grpc

from mainspring.domain.errors import ConfigError
from mainspring.domain.limits import MESSAGE_BYTES_MAX
from mainspring.ports.clock import monotonic
from mainspring.server.grpc import submission_service, worker_service
from mainspring.server.grpc.attempt_stream import Streams
from mainspring.server.grpc.backroom import Backroom, Seats
from mainspring.server.grpc.calls import Admission, Context, Method, refuse
from mainspring.server.grpc.scheduler_service import SchedulerService

CONCURRENT_CALLS_MAX: Final = 1_000
#: So long calls that are under way may end when the server stops; streams end at once.
CLOSE_SECONDS: Final = 10.0
_OPTIONS: Final = (
    ("grpc.max_receive_message_length", MESSAGE_BYTES_MAX),
    ("grpc.max_send_message_length", MESSAGE_BYTES_MAX),
    ("grpc.max_concurrent_streams", CONCURRENT_CALLS_MAX),
    ("grpc.max_metadata_size", 16_384),
    # A peer that has gone without a word is noticed, and one that pings too often is cut off.
    ("grpc.keepalive_time_ms", 20_000),
    ("grpc.keepalive_timeout_ms", 10_000),
    ("grpc.keepalive_permit_without_calls", 1),
    ("grpc.http2.min_ping_interval_without_data_ms", 5_000),
    ("grpc.http2.max_ping_strikes", 3),
    # Two servers on one port would each get some of the calls.
    ("grpc.so_reuseport", 0),
)


class Door:
    """An open door: where it is, and whether it says that it serves."""

    def __init__(self, port: int, healthy: "health.aio.HealthServicer") -> None:
        """Know the port."""
        self.port: Final = port
        self._health = healthy

    async def say_ready(self, *, is_ready: bool) -> None:
        """Tell whoever asks for health."""
        word = health_pb2.HealthCheckResponse
        status = word.SERVING if is_ready else word.NOT_SERVING
        await self._health.set("", status)


@asynccontextmanager
async def open_door(
    backroom: Backroom,
    address: str,
    *,
    credentials: "grpc.ServerCredentials | None" = None,
    has_reflection: bool = True,
) -> AsyncIterator[Door]:
    """Serve at ``HOST:PORT`` (port 0: any) for as long as the block lasts."""
    seats = Seats(backroom, monotonic)
    admission = Admission(backroom.doorkeeper, backroom, seats)
    server = grpc.aio.server(options=_OPTIONS)
    table = methods(Streams())
    healthy = health.aio.HealthServicer()
    health_pb2_grpc.add_HealthServicer_to_server(healthy, server)
    for service, rows in table.items():
        handlers = {row.name: admission.handler(row) for row in rows}
        generic = grpc.method_handlers_generic_handler(service, handlers)
        server.add_generic_rpc_handlers((generic,))
    if has_reflection:
        names = (*table, health.SERVICE_NAME, reflection.SERVICE_NAME)
        mirror = _Mirror(names, admission)
        reflection_pb2_grpc.add_ServerReflectionServicer_to_server(mirror, server)
    port = _listen(server, address, credentials)
    await server.start()
    door = Door(port, healthy)
    await door.say_ready(is_ready=True)
    try:
        yield door
    finally:
        await healthy.enter_graceful_shutdown()
        await server.stop(CLOSE_SECONDS)


def methods(streams: Streams) -> Mapping[str, list[Method[Any]]]:
    """Return every method by its service; nothing else can be called."""
    return {
        rows[0].service: rows
        for rows in (
            SchedulerService().methods(),
            worker_service.methods(streams),
            submission_service.methods(),
        )
    }


def _listen(
    server: "grpc.aio.Server", address: str, credentials: "grpc.ServerCredentials | None"
) -> int:
    try:
        if credentials is None:
            return server.add_insecure_port(address)
        return server.add_secure_port(address, credentials)
    except RuntimeError:
        raise ConfigError(
            f"grpc: {address} cannot be opened",
            hint="choose another with --grpc or MAINSPRING_GRPC, or stop what listens there",
        ) from None


class _Mirror(reflection.aio.ReflectionServicer):  # type: ignore[misc]  # has no types
    """Shows the services to those who are known by a credential."""

    def __init__(self, names: tuple[str, ...], admission: Admission) -> None:
        super().__init__(names)
        self._admission = admission

    async def ServerReflectionInfo(  # noqa: N802 - the library's name
        self, request_iterator: AsyncIterator[Any], context: Context
    ) -> AsyncIterator[Any]:
        """Admit, then show."""
        try:
            await self._admission.admit(context, None)
        except Exception as error:  # noqa: BLE001 - every error has an answer
            await refuse(context, reflection.SERVICE_NAME, error)
        async for answer in super().ServerReflectionInfo(request_iterator, context):
            yield answer
