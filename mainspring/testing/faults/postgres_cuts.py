"""Cuts at one statement of a PostgreSQL connection.

Bytes alone do not suffice here. Drivers send a statement's text once, to have it prepared, and
later only its name; and the first bytes of an answer may leave the server before it has committed.
So messages are followed: a pattern is sought in simple queries, and in the text and the arguments
of each prepared statement where it is executed; and a statement counts as answered when the server
says that it is ready for the next.
"""

from mainspring.testing.faults.cuts import Cut, Moment

_PROTOCOL_MAJOR = 3
_ENCRYPTION_REQUESTS = {80_877_103, 80_877_104}  # TLS, GSSAPI; answered by a single byte
_ENCRYPTION_REFUSED = b"N"
_ENDS_A_UNIT = {b"Q", b"S", b"F"}  # simple query, sync, function call
_READY = b"Z"
_COPY_IN = b"G"  # an answer that the client must see, or it never sends its rows


class PostgresWatch:
    """Follows one connection. Encrypted ones pass unseen: use sslmode=disable."""

    def __init__(self, pending: list[Cut]) -> None:
        self._pending = pending
        self._from_client = bytearray()
        self._from_server = bytearray()
        self._is_greeted = False  # messages before that carry no type
        self._is_opaque = False
        self._single_bytes_due = 0
        self._statements: dict[bytes, bytes] = {}
        # A unit is what ends in one "ready". Both counts start with the connection's greeting.
        self._units_asked = 0
        self._units_answered = 0
        self._armed: Cut | None = None
        self._armed_unit = -1

    def upward(self, chunk: bytes) -> tuple[bytes, Cut | None]:
        """Forward whole messages up to the one to cut before."""
        self._from_client += chunk
        forwarded = bytearray()
        while message := self._next_from_client():
            cut = self._match(message)
            if cut is not None and cut.moment is Moment.BEFORE:
                return bytes(forwarded), cut
            if cut is not None:
                self._armed, self._armed_unit = cut, self._units_asked
            if self._is_greeted and message[:1] in _ENDS_A_UNIT:
                self._units_asked += 1
            forwarded += message
        return bytes(forwarded), None

    def downward(self, chunk: bytes) -> tuple[bytes, Cut | None]:
        """Forward whole messages, but swallow the unit that answers the match."""
        self._from_server += chunk
        forwarded = bytearray()
        while message := self._next_from_server():
            kind = message[:1]
            is_swallowed = self._armed is not None and self._units_answered == self._armed_unit
            if not is_swallowed or kind == _COPY_IN:
                forwarded += message
            if kind == _READY:
                self._units_answered += 1
                if is_swallowed:
                    return bytes(forwarded), self._armed
        return bytes(forwarded), None

    def _match(self, message: bytes) -> Cut | None:
        kind = message[:1]
        if kind == b"P":  # parse: name, text
            name, text = message[5:].split(b"\0", 2)[:2]
            self._statements[name] = text
            return None
        if kind == b"B":  # bind: portal, name of the statement, arguments
            name = message[5:].split(b"\0", 2)[1]
            message = self._statements.get(name, b"") + message
        elif kind != b"Q":
            return None
        for cut in self._pending:
            if cut.takes(message):
                self._pending.remove(cut)
                return cut
        return None

    def _next_from_client(self) -> bytes:
        """One whole message, or nothing as long as there is none."""
        if self._is_opaque:
            return _take(self._from_client, len(self._from_client))
        if self._is_greeted:
            return self._next_typed(self._from_client)
        if len(self._from_client) < 8:
            return b""
        size = int.from_bytes(self._from_client[:4])
        code = int.from_bytes(self._from_client[4:8])
        message = _take(self._from_client, size)
        if message and code in _ENCRYPTION_REQUESTS:
            self._single_bytes_due += 1
        elif message and code >> 16 == _PROTOCOL_MAJOR:
            self._is_greeted = True
            self._units_asked = 1
        return message

    def _next_from_server(self) -> bytes:
        if self._is_opaque:
            return _take(self._from_server, len(self._from_server))
        if self._single_bytes_due:
            answer = _take(self._from_server, 1)
            self._single_bytes_due -= len(answer)
            self._is_opaque = answer not in {b"", _ENCRYPTION_REFUSED}
            return answer
        return self._next_typed(self._from_server)

    def _next_typed(self, buffer: bytearray) -> bytes:
        if len(buffer) < 5:
            return b""
        return _take(buffer, 1 + int.from_bytes(buffer[1:5]))


def _take(buffer: bytearray, size: int) -> bytes:
    """Cut that many bytes off the front, or none if there are fewer."""
    if len(buffer) < size:
        return b""
    taken = bytes(buffer[:size])
    del buffer[:size]
    return taken
