"""A connection of gRPC: where it leads, what goes with each call, and how calls fail."""

from collections.abc import AsyncIterator, Sequence
from pathlib import Path
from typing import Any, Final, NoReturn, TypeVar

import grpc
from google.protobuf.message import DecodeError, Message

from mainspring.domain.errors import ConfigError, ServerUnreachable
from mainspring.domain.limits import MESSAGE_BYTES_MAX
from mainspring.wire.protobuf.errors import error_of

AnswerT = TypeVar("AnswerT", bound=Message)

#: A call that is answered by one message.
CALL_SECONDS: Final = 30.0
#: The reasons that a call ends with when its answer was lost on the way, or nobody was there.
_LOST: Final = frozenset(
    {
        grpc.StatusCode.UNAVAILABLE,
        grpc.StatusCode.DEADLINE_EXCEEDED,
        grpc.StatusCode.CANCELLED,
        grpc.StatusCode.UNKNOWN,
    }
)
_OPTIONS: Final = (
    # What a server sends is bounded by the server.
    ("grpc.max_receive_message_length", -1),
    ("grpc.max_send_message_length", MESSAGE_BYTES_MAX),
    # A worker shall be back within a second after its server is.
    ("grpc.initial_reconnect_backoff_ms", 100),
    ("grpc.min_reconnect_backoff_ms", 1_000),
    ("grpc.max_reconnect_backoff_ms", 1_000),
    # A server that vanished without a word is noticed before the lease is over.
    ("grpc.keepalive_time_ms", 6_000),
    ("grpc.keepalive_timeout_ms", 3_000),
    ("grpc.keepalive_permit_without_calls", 1),
    ("grpc.http2.max_pings_without_data", 0),
    # A connection of its own, so that processes and gateways fail apart.
    ("grpc.use_local_subchannel_pool", 1),
)
_SCHEMES: Final = ("grpc", "grpcs")
_DEFAULT_PORT: Final = 8471


def target_of(url: str) -> tuple[str, bool]:
    """Return host and port, and whether TLS is spoken, or raise ``ConfigError``."""
    scheme, separator, rest = url.partition("://")
    host, _, port = rest.rstrip("/").rpartition(":")
    if not host:
        host, port = rest.rstrip("/"), str(_DEFAULT_PORT)
    is_usable = scheme in _SCHEMES and bool(separator) and bool(host)
    if not is_usable or not port.isdecimal() or any(mark in rest.rstrip("/") for mark in "/@?#"):
        raise ConfigError(
            "store: this is no address of a server",
            hint="write grpc://HOST:PORT or grpcs://HOST:PORT",
        )
    return f"{host}:{port}", scheme == "grpcs"


class Channel:
    """Calls methods of one server, and turns what fails into the errors of the domain."""

    def __init__(
        self, url: str, *, key: str = "", ca_file: str = "", certificate_file: str = ""
    ) -> None:
        """Connect when first asked; ``key`` goes with every call.

        ``ca_file`` has the authorities of the server's certificate, where they are not those of
        this machine; ``certificate_file`` the worker's own certificate and private key.
        """
        self._target, is_secure = target_of(url)
        if is_secure:
            credentials = _credentials(ca_file, certificate_file)
            self._channel = grpc.aio.secure_channel(self._target, credentials, options=_OPTIONS)
        else:
            self._channel = grpc.aio.insecure_channel(self._target, options=_OPTIONS)
        self._metadata: tuple[tuple[str, str], ...] = ()
        if key:
            self._metadata = (("authorization", f"Bearer {key}"),)
        self._calls: dict[str, Any] = {}

    async def ask(
        self, path: str, question: Message, answers: type[AnswerT], *, seconds: float = CALL_SECONDS
    ) -> AnswerT:
        """Send a message, return the answer."""
        call = self._calls.get(path)
        if call is None:
            call = self._calls[path] = self._channel.unary_unary(path)
        try:
            raw = await call(question.SerializeToString(), timeout=seconds, metadata=self._metadata)
        except grpc.aio.AioRpcError as error:
            self._refuse(error)
        return self._read(answers, raw)

    async def download(
        self, path: str, question: Message, answers: type[AnswerT]
    ) -> AsyncIterator[AnswerT]:
        """Send a message, return the answers as they come."""
        call: Any = self._channel.unary_stream(path)
        try:
            sent = question.SerializeToString()
            async for raw in call(sent, timeout=CALL_SECONDS, metadata=self._metadata):
                yield self._read(answers, raw)
        except grpc.aio.AioRpcError as error:
            self._refuse(error)

    async def upload(self, path: str, words: Sequence[Message], answers: type[AnswerT]) -> AnswerT:
        """Send messages, return the answer."""
        call: Any = self._channel.stream_unary(path)
        sent = (word.SerializeToString() for word in words)
        try:
            raw = await call(sent, timeout=CALL_SECONDS, metadata=self._metadata)
        except grpc.aio.AioRpcError as error:
            self._refuse(error)
        return self._read(answers, raw)

    async def close(self) -> None:
        """Let go of the connection."""
        await self._channel.close()

    def _read(self, answers: type[AnswerT], raw: bytes) -> AnswerT:
        try:
            return answers.FromString(raw)
        except DecodeError:
            raise self._unreachable("it answered what this version cannot read") from None

    def _refuse(self, error: grpc.aio.AioRpcError) -> NoReturn:
        told = error_of(_pairs(error.trailing_metadata()))
        if told is not None:
            raise told from None
        if error.code() in _LOST:
            raise self._unreachable(error.details() or error.code().name) from None
        words = f"{error.code().name}: {error.details()}"
        raise ServerUnreachable(
            f"the server at {self._target} refused the call: {words[:300]}",
            hint="is this address that of Mainspring's gRPC, and its version not older than ours?",
        ) from None

    def _unreachable(self, why: str) -> ServerUnreachable:
        return ServerUnreachable(f"the server at {self._target} did not answer: {why[:300]}")


def _credentials(ca_file: str, certificate_file: str) -> "grpc.ChannelCredentials":
    try:
        roots = Path(ca_file).read_bytes() if ca_file else None
        own = Path(certificate_file).read_bytes() if certificate_file else None
    except OSError as error:
        raise ConfigError(f"a certificate cannot be read: {error}") from None
    return grpc.ssl_channel_credentials(roots, own, own)


def _pairs(metadata: Any) -> list[tuple[str, str | bytes]]:
    return [(key, value) for key, value in metadata or ()]
