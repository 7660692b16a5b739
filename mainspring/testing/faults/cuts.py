"""When to cut a connection, judged from the bytes that pass."""

import asyncio
from dataclasses import dataclass, field
from enum import Enum, StrEnum
from typing import Protocol as TypingProtocol


class Moment(Enum):
    """Where in the conversation a cut happens."""

    BEFORE = "before the matching bytes reach the server"
    AFTER = "after the server has acted on them and before its answer reaches the client"


class Then(StrEnum):
    """What the two ends see."""

    RESET = "reset"  # both at once, as when a middlebox restarts
    SILENCE = "silence"  # nothing more, with the connection open, as when a cable is pulled


@dataclass(slots=True, eq=False, kw_only=True)
class Cut:
    """One cut to come. `happened` is set when it has; `skip` matches are let pass before it."""

    pattern: bytes
    moment: Moment
    then: Then
    skip: int
    happened: asyncio.Event = field(default_factory=asyncio.Event)

    def takes(self, text: bytes) -> bool:
        """Whether this text is the one to cut at. Counts, so ask once for each text."""
        if self.pattern not in text:
            return False
        self.skip -= 1
        return self.skip < 0


class Watch(TypingProtocol):
    """Sees one connection's bytes on their way; answers what to forward and whether to cut then."""

    def upward(self, chunk: bytes) -> tuple[bytes, Cut | None]:
        """From the client."""
        ...

    def downward(self, chunk: bytes) -> tuple[bytes, Cut | None]:
        """From the server."""
        ...


class RawWatch:
    """For any protocol: looks for the pattern in the stream, wherever the network has split it.

    The first bytes that come back after a match count as its answer. That suits protocols of one
    question and one answer at a time, such as HTTP and Redis without pipelining.
    """

    def __init__(self, pending: list[Cut]) -> None:
        self._pending = pending
        self._tails: dict[Cut, bytes] = {}
        self._armed: Cut | None = None

    def upward(self, chunk: bytes) -> tuple[bytes, Cut | None]:
        """Forward all, or what precedes the match."""
        for cut in list(self._pending):
            end = self._end_of_match(cut, chunk)
            if end is None:
                continue
            self._pending.remove(cut)
            if cut.moment is Moment.BEFORE:
                return chunk[: max(0, end - len(cut.pattern))], cut
            self._armed = cut
        return chunk, None

    def downward(self, chunk: bytes) -> tuple[bytes, Cut | None]:
        """Forward all, or swallow the answer to the match."""
        if self._armed is None:
            return chunk, None
        return b"", self._armed

    def _end_of_match(self, cut: Cut, chunk: bytes) -> int | None:
        """Where in the chunk the match ends that is to be cut at."""
        tail = self._tails.get(cut, b"")
        window = tail + chunk
        position = window.find(cut.pattern)
        while position >= 0:
            end = position + len(cut.pattern)
            if cut.takes(cut.pattern):
                return end - len(tail)
            position = window.find(cut.pattern, end)
        # Too short for a whole match, so none is counted twice.
        self._tails[cut] = window[len(window) - min(len(window), len(cut.pattern) - 1) :]
        return None
