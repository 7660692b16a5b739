"""One call: who it is, what was asked, how long it may take, and how it fails."""

import asyncio
import logging
from collections.abc import AsyncIterator, Awaitable, Callable
from dataclasses import dataclass
from typing import Any, Final, Generic, NoReturn, TypeAlias, TypeVar

import grpc
from google.protobuf.message import DecodeError, Message

from mainspring.domain.access import Principal, Right
from mainspring.domain.errors import InvalidInput, MainspringError
from mainspring.ports.gateway import ClientGateway, WorkerGateway
from mainspring.server.doorkeeper import Doorkeeper
from mainspring.server.grpc.backroom import Backroom, Seats
from mainspring.wire.protobuf.errors import error_metadata

_log: Final = logging.getLogger("mainspring.server")
#: A call that asks for one answer has ended by then, whatever its caller would wait.
CALL_SECONDS_MAX: Final = 90.0
_DETAIL_CHARACTERS_MAX: Final = 1_000

Context: TypeAlias = "grpc.aio.ServicerContext[Any, Any]"
AskedT = TypeVar("AskedT", bound=Message)


class Caller:
    """Whoever makes a call, and what it may reach."""

    def __init__(self, principal: Principal, backroom: Backroom, seats: Seats) -> None:
        """Reach what the principal may."""
        self.principal: Final = principal
        self.backroom: Final = backroom
        self._seats = seats

    @property
    def desk(self) -> ClientGateway:
        """Return the client's gateway of this caller."""
        return self.backroom.desk(self.principal.tenant)

    def seat(self, worker_id: bytes, child: int = 0) -> WorkerGateway:
        """Return the worker's gateway of one of its processes."""
        return self._seats.seat(self.principal, worker_id, child)

    async def leave(self, worker_id: bytes) -> None:
        """Forget a worker whose session is over."""
        await self._seats.leave(self.principal, worker_id)


@dataclass(frozen=True, kw_only=True)
class Method(Generic[AskedT]):
    """A row of the table: a method's name, who may call it, what it takes and who does it."""

    service: str
    name: str
    right: Right
    takes: type[AskedT]

    @property
    def path(self) -> str:
        """Return the name by which it is called."""
        return f"/{self.service}/{self.name}"


@dataclass(frozen=True, kw_only=True)
class Ask(Method[AskedT]):
    """One message comes, one goes."""

    does: Callable[[Caller, AskedT], Awaitable[Message]]


@dataclass(frozen=True, kw_only=True)
class Download(Method[AskedT]):
    """One message comes, many go."""

    does: Callable[[Caller, AskedT], AsyncIterator[Message]]


@dataclass(frozen=True, kw_only=True)
class Upload(Method[AskedT]):
    """Many messages come, one goes."""

    does: Callable[[Caller, AsyncIterator[AskedT]], Awaitable[Message]]


@dataclass(frozen=True, kw_only=True)
class Talk(Method[AskedT]):
    """Many messages come and go, until the task is cancelled or the caller has ended."""

    does: Callable[["Line[AskedT]"], Awaitable[None]]


class Line(Generic[AskedT]):
    """An open conversation."""

    def __init__(self, door: "Admission", context: Context, takes: type[AskedT]) -> None:
        """Speak through ``context``."""
        self._door = door
        self._context = context
        self._takes = takes
        self.caller: Caller

    async def admit(self, right: Right) -> None:
        """Look again who it is: keys end while conversations go on."""
        self.caller = await self._door.admit(self._context, right)

    async def hear(self) -> AskedT | None:
        """Return the next message; nothing when the other side has ended."""
        raw = await self._context.read()
        return None if raw is grpc.aio.EOF else read(self._takes, raw)

    async def say(self, message: Message) -> None:
        """Send a message; returns when there is room for another one."""
        await self._context.write(message.SerializeToString())


class Admission:
    """Lets calls in, and gives them a proper end."""

    def __init__(self, doorkeeper: Doorkeeper, backroom: Backroom, seats: Seats) -> None:
        """Ask this doorkeeper."""
        self._doorkeeper = doorkeeper
        self._backroom = backroom
        self._seats = seats

    async def admit(self, context: Context, right: Right | None) -> Caller:
        """Return who calls; raise when nobody is known by what was shown, or may not do it."""
        shown: str | None = None
        for key, value in context.invocation_metadata() or ():
            if key == "authorization" and isinstance(value, str):
                shown = value
        principal = await self._doorkeeper.admit(shown, context.peer(), certificate_of(context))
        if right is not None:
            principal.insist(right)
        await self._seats.trim()
        return Caller(principal, self._backroom, self._seats)

    def handler(self, method: Method[Any]) -> "grpc.RpcMethodHandler[Any, Any]":
        """Return what the library calls for a method; bytes come and go."""
        match method:
            case Ask():
                return grpc.unary_unary_rpc_method_handler(self._ask(method))
            case Download():
                return grpc.unary_stream_rpc_method_handler(self._download(method))
            case Upload():
                return grpc.stream_unary_rpc_method_handler(self._upload(method))
            case Talk():
                return grpc.stream_stream_rpc_method_handler(self._talk(method))
            case _:
                raise AssertionError(method)

    def _ask(self, method: Ask[Any]) -> Any:
        async def answer(raw: bytes, context: Context) -> bytes:
            try:
                async with asyncio.timeout(CALL_SECONDS_MAX):
                    caller = await self.admit(context, method.right)
                    made = await method.does(caller, read(method.takes, raw))
                    return made.SerializeToString()
            except Exception as error:  # noqa: BLE001 - every error has an answer
                await refuse(context, method.path, error)

        return answer

    def _download(self, method: Download[Any]) -> Any:
        async def answer(raw: bytes, context: Context) -> None:
            try:
                caller = await self.admit(context, method.right)
                async for message in method.does(caller, read(method.takes, raw)):
                    await context.write(message.SerializeToString())
            except Exception as error:  # noqa: BLE001 - as above
                await refuse(context, method.path, error)

        return answer

    def _upload(self, method: Upload[Any]) -> Any:
        async def answer(_: object, context: Context) -> bytes:
            async def messages() -> AsyncIterator[Any]:
                while (raw := await context.read()) is not grpc.aio.EOF:
                    yield read(method.takes, raw)

            try:
                async with asyncio.timeout(CALL_SECONDS_MAX):
                    caller = await self.admit(context, method.right)
                    made = await method.does(caller, messages())
                    return made.SerializeToString()
            except Exception as error:  # noqa: BLE001 - as above
                await refuse(context, method.path, error)

        return answer

    def _talk(self, method: Talk[Any]) -> Any:
        async def answer(_: object, context: Context) -> None:
            line: Line[Any] = Line(self, context, method.takes)
            try:
                await line.admit(method.right)
                await method.does(line)
            except Exception as error:  # noqa: BLE001 - as above
                await refuse(context, method.path, error)

        return answer


def read(takes: type[AskedT], raw: bytes) -> AskedT:
    """Read a message, or raise ``InvalidInput``."""
    try:
        return takes.FromString(raw)
    except DecodeError as error:
        raise InvalidInput(
            f"this is no {takes.DESCRIPTOR.full_name}: {error}",
            hint="send messages that are made from the .proto files of this version",
        ) from None


async def refuse(context: Context, name: str, error: BaseException) -> NoReturn:
    """End a call that failed: a status, a code, a message and a hint."""
    while isinstance(error, BaseExceptionGroup):
        error = error.exceptions[0]
    if isinstance(error, MainspringError):
        status = grpc.StatusCode[error.grpc_status]
        details = error.message[:_DETAIL_CHARACTERS_MAX]
        metadata = error_metadata(error)
        if error.grpc_status == "INTERNAL":
            _log.error("%s failed: %s", name, error)
        await context.abort(status, details, metadata)
    if isinstance(error, TimeoutError):
        await context.abort(
            grpc.StatusCode.DEADLINE_EXCEEDED, f"the call took over {CALL_SECONDS_MAX:g} s"
        )
    _log.error("%s failed", name, exc_info=error)
    await context.abort(grpc.StatusCode.INTERNAL, "something went wrong inside Mainspring")


def certificate_of(context: Context) -> str | None:
    """Return the name in a client certificate that the transport has verified."""
    shown = context.auth_context()
    if not isinstance(shown, dict):
        return None
    for key in ("x509_subject_alternative_name", "x509_common_name"):
        for value in shown.get(key) or ():
            return value.decode("utf-8", "replace") if isinstance(value, bytes) else str(value)
    return None
