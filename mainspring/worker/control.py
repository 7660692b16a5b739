"""The words between processes of one worker: JSON lines of tagged records over socket pairs."""

import asyncio
from collections.abc import Callable
from typing import Final, Generic, Literal, TypeVar, cast

import msgspec

from mainspring.app.files import FileRef
from mainspring.domain.job import Claimed, HandlerInfo
from mainspring.domain.outcome import ErrorInfo, LogLine, Outcome, Progress
from mainspring.worker.config import WorkerConfig

# --- Keeper to child ----------------------------------------------------------------------------


class Start(msgspec.Struct, frozen=True, tag="start"):
    """The first line a child reads. ``settings`` is for the gateway; the worker only passes it."""

    config: WorkerConfig
    settings: str
    child: int


class Begin(msgspec.Struct, frozen=True, tag="begin"):
    """The session is open: claim and work."""

    worker_id: bytes


class Drain(msgspec.Struct, frozen=True, tag="drain"):
    """Claim no more; finish what runs within this time, hand back the rest, and end."""

    seconds: float


# --- Child to keeper ----------------------------------------------------------------------------


class Ready(msgspec.Struct, frozen=True, tag="ready"):
    """The app is imported; these are its handlers."""

    handlers: tuple[HandlerInfo, ...]


class Unusable(msgspec.Struct, frozen=True, tag="unusable"):
    """The app cannot be used; starting again without a change does not help."""

    message: str
    hint: str
    traceback: str = ""


class Claiming(msgspec.Struct, frozen=True, tag="claiming"):
    """The first claim succeeded: this child works."""


class Retiring(msgspec.Struct, frozen=True, tag="retiring"):
    """This child claims no more and will end; start its successor now."""

    reason: str


class SessionEnded(msgspec.Struct, frozen=True, tag="session_ended"):
    """The other side says that the session has ended."""


class Goodbye(msgspec.Struct, frozen=True, tag="goodbye"):
    """The last word: everything is reported, and the process ends in order."""


# --- Child to zygote, and back ------------------------------------------------------------------


class Fork(msgspec.Struct, frozen=True, tag="fork"):
    """Make an isolate; its socket comes along with this line."""

    token: int


class Signal(msgspec.Struct, frozen=True, tag="signal"):
    """Send a signal to an isolate: one that was reaped already gets none."""

    token: int
    number: int


class Forked(msgspec.Struct, frozen=True, tag="forked"):
    """The isolate lives."""

    token: int
    pid: int


class Exited(msgspec.Struct, frozen=True, tag="exited"):
    """The isolate was reaped; ``code`` is negative for a signal."""

    token: int
    code: int


# --- Child to isolate, and back -----------------------------------------------------------------


class Execute(msgspec.Struct, frozen=True, tag="execute"):
    """Run this attempt; its payload is in it, wherever it came from."""

    claimed: Claimed


class Warm(msgspec.Struct, frozen=True, tag="warm"):
    """The lifespan is entered: ready for an attempt."""


class Broken(msgspec.Struct, frozen=True, tag="broken"):
    """The lifespan failed; this isolate ends."""

    error: ErrorInfo


class Logged(msgspec.Struct, frozen=True, tag="logged"):
    """The handler logged."""

    line: LogLine


class Moved(msgspec.Struct, frozen=True, tag="moved"):
    """The handler told its progress."""

    progress: Progress


class Alive(msgspec.Struct, frozen=True, tag="alive"):
    """The handler showed a sign of life."""


class Save(msgspec.Struct, frozen=True, tag="save"):
    """The handler has written a file that is to be kept: the path is one for both processes."""

    number: int
    path: str
    name: str


class Saved(msgspec.Struct, frozen=True, tag="saved"):
    """The file is kept; or, with a code, why it is not."""

    number: int
    file: FileRef | None = None
    code: str = ""
    message: str = ""
    hint: str = ""


class Ended(msgspec.Struct, frozen=True, tag="ended"):
    """The attempt is over."""

    outcome: Outcome


ToChild = Start | Begin | Drain
ToKeeper = Ready | Unusable | Claiming | Retiring | SessionEnded | Goodbye
ToZygote = Fork | Signal
FromZygote = Forked | Exited
ToIsolate = Execute | Saved
FromIsolate = Warm | Broken | Logged | Moved | Alive | Save | Ended

TO_CHILD: Final[msgspec.json.Decoder[ToChild]] = msgspec.json.Decoder(ToChild)
TO_KEEPER: Final[msgspec.json.Decoder[ToKeeper]] = msgspec.json.Decoder(ToKeeper)
TO_ZYGOTE: Final[msgspec.json.Decoder[ToZygote]] = msgspec.json.Decoder(ToZygote)
FROM_ZYGOTE: Final[msgspec.json.Decoder[FromZygote]] = msgspec.json.Decoder(FromZygote)
TO_ISOLATE: Final[msgspec.json.Decoder[ToIsolate]] = msgspec.json.Decoder(ToIsolate)
FROM_ISOLATE: Final[msgspec.json.Decoder[FromIsolate]] = msgspec.json.Decoder(FromIsolate)

_encode: Final = msgspec.json.Encoder().encode

Word = TypeVar("Word")


def line(word: msgspec.Struct) -> bytes:
    """Return one record as the line that travels."""
    return _encode(word) + b"\n"


class LineBuffer(Generic[Word]):
    """Cuts a stream of bytes into records."""

    def __init__(self, decoder: msgspec.json.Decoder[Word]) -> None:
        """Decode lines by ``decoder``."""
        self._decoder = decoder
        self._rest = bytearray()

    def feed(self, received: bytes) -> list[Word]:
        """Take what was received; return the records that are complete now."""
        self._rest += received
        *lines, rest = self._rest.split(b"\n") if b"\n" in received else [self._rest]
        self._rest = rest
        return [self._decoder.decode(found) for found in lines]


class Channel(asyncio.Protocol, Generic[Word]):
    """One end of a socket pair inside a loop: calls back for each word and for the end."""

    def __init__(
        self,
        decoder: msgspec.json.Decoder[Word],
        on_word: Callable[[Word], None],
        on_end: Callable[[], None],
    ) -> None:
        """Call ``on_word`` for every record, then ``on_end`` once."""
        self._buffer: LineBuffer[Word] = LineBuffer(decoder)
        self._on_word = on_word
        self._on_end = on_end
        self._transport: asyncio.Transport | None = None
        self.ended = False

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        # Not asserted: uvloop's transports inherit from nothing.
        self._transport = cast("asyncio.Transport", transport)

    def data_received(self, data: bytes) -> None:
        for word in self._buffer.feed(data):
            self._on_word(word)

    def eof_received(self) -> Literal[False]:
        return False

    def connection_lost(self, exc: Exception | None) -> None:
        self.ended = True
        self._on_end()

    def send(self, word: msgspec.Struct) -> None:
        """Send without waiting; silently dropped when the other end has gone."""
        if self._transport is not None and not self.ended:
            self._transport.write(line(word))

    def close(self) -> None:
        """Close after what was sent has left."""
        if self._transport is not None:
            self._transport.close()
