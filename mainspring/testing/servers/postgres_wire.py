"""Just enough of PostgreSQL's protocol to ask whether it serves and to make and drop databases.

Written out because a driver would bring its event loop or its compiled library into a module that
must work from any thread, and `psql` costs fifteen times as long and is missing beside a server
that is not ours. Text results of simple queries only, no TLS.
"""

import base64
import hashlib
import hmac
import os
import socket
import struct
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import BinaryIO
from urllib.parse import quote, unquote, urlsplit

_PROTOCOL_3 = 196_608
_DEFAULT_PORT = 5432
_MESSAGE_BYTES_MAX = 16 * 1024 * 1024

Row = tuple[str | None, ...]


class QueryRefused(Exception):
    """The server answered with an error; `sqlstate` says which."""

    def __init__(self, sqlstate: str, message: str) -> None:
        super().__init__(f"{sqlstate}: {message}")
        self.sqlstate = sqlstate


@dataclass(frozen=True, slots=True, kw_only=True)
class Address:
    """Where a database is and who asks: `Address.parse("postgresql://postgres@host/name")`."""

    host: str
    port: int
    user: str
    database: str
    password: str | None = None
    parameters: str = ""  # what stood behind the question mark, kept for the drivers of others

    @classmethod
    def parse(cls, dsn: str) -> "Address":
        """From a URL; any other form of DSN is refused."""
        parts = urlsplit(dsn)
        if parts.scheme not in {"postgres", "postgresql"} or not parts.hostname:
            raise ValueError("a DSN must look like postgresql://user:password@host:5432/database")
        user = unquote(parts.username or "postgres")
        return cls(
            host=parts.hostname,
            port=parts.port or _DEFAULT_PORT,
            user=user,
            database=unquote(parts.path.removeprefix("/")) or user,
            password=None if parts.password is None else unquote(parts.password),
            parameters=parts.query,
        )

    @property
    def dsn(self) -> str:
        """As a URL."""
        password = "" if self.password is None else f":{quote(self.password, safe='')}"
        host = f"[{self.host}]" if ":" in self.host else self.host
        query = f"?{self.parameters}" if self.parameters else ""
        user, database = quote(self.user, safe=""), quote(self.database, safe="")
        return f"postgresql://{user}{password}@{host}:{self.port}/{database}{query}"

    def with_database(self, database: str) -> "Address":
        """The same server, another database."""
        return replace(self, database=database)


def query(address: Address, statement: str, *, seconds_max: float = 30.0) -> list[Row]:
    """Run one simple query on a connection of its own; the rows as text.

    Raises `QueryRefused` when the server says no and `OSError` when nobody answers. The time is for
    each wait on the network, not for the whole.
    """
    where = (address.host, address.port)
    with (
        socket.create_connection(where, timeout=seconds_max) as connection,
        # Closed by name: as long as it is open, so is the connection, whatever the line above says.
        connection.makefile("rb") as stream,
    ):
        wire = _Wire(connection, stream)
        wire.send_startup(address)
        _authenticate(wire, address)
        wire.send(b"Q", statement.encode() + b"\0")
        rows = [_decode_row(body) for kind, body in wire.until_ready() if kind == b"D"]
        wire.send(b"X", b"")
        return rows


class _Wire:
    """Messages over a blocking socket."""

    def __init__(self, connection: socket.socket, stream: BinaryIO) -> None:
        self._socket = connection
        self._stream = stream

    def send_startup(self, address: Address) -> None:
        pairs = {"user": address.user, "database": address.database, "client_encoding": "UTF8"}
        body = b"".join(f"{key}\0{value}\0".encode() for key, value in pairs.items()) + b"\0"
        self._socket.sendall(struct.pack("!II", len(body) + 8, _PROTOCOL_3) + body)

    def send(self, kind: bytes, body: bytes) -> None:
        self._socket.sendall(kind + struct.pack("!I", len(body) + 4) + body)

    def receive(self) -> tuple[bytes, bytes]:
        kind = self._read(1)
        (length,) = struct.unpack("!I", self._read(4))
        if not 4 <= length <= _MESSAGE_BYTES_MAX:
            raise ConnectionError("what answers there is not PostgreSQL")
        body = self._read(length - 4)
        if kind == b"E":
            raise _refusal(body)
        return kind, body

    def until_ready(self) -> Iterator[tuple[bytes, bytes]]:
        """Everything up to the server's "ready for the next query"."""
        while True:
            kind, body = self.receive()
            if kind == b"Z":
                return
            yield kind, body

    def _read(self, size: int) -> bytes:
        chunk = self._stream.read(size)
        if len(chunk) < size:
            raise ConnectionError("the server closed the connection")
        return chunk


def _authenticate(wire: _Wire, address: Address) -> None:
    for kind, body in wire.until_ready():
        if kind != b"R":
            continue  # settings and the key for cancelling
        (method,) = struct.unpack("!I", body[:4])
        password = (address.password or "").encode()
        if method == 0:
            continue
        if method == 3:
            wire.send(b"p", password + b"\0")
        elif method == 5:
            wire.send(b"p", _md5_answer(password, address.user.encode(), salt=body[4:8]) + b"\0")
        elif method == 10 and b"SCRAM-SHA-256" in body[4:].split(b"\0"):
            _scram(wire, password)
        else:
            raise ConnectionError(f"authentication method {method} is not known here")


def _md5_answer(password: bytes, user: bytes, salt: bytes) -> bytes:
    # The method is old and weak, and servers in the field still ask for it.
    inner = hashlib.md5(password + user, usedforsecurity=False).hexdigest().encode()
    return b"md5" + hashlib.md5(inner + salt, usedforsecurity=False).hexdigest().encode()


def _scram(wire: _Wire, password: bytes) -> None:
    """SCRAM-SHA-256 (RFC 5802, 7677) without channel binding; proves both sides to each other."""
    nonce = base64.b64encode(os.urandom(18))  # noqa: TID251 - security needs true dice
    client_first = b"n=,r=" + nonce
    opening = b"n,," + client_first
    wire.send(b"p", b"SCRAM-SHA-256\0" + struct.pack("!I", len(opening)) + opening)
    server_first = _scram_step(wire, expected=11)
    offer = dict(part.split(b"=", 1) for part in server_first.split(b","))
    if not offer[b"r"].startswith(nonce):
        raise ConnectionError("the server's nonce does not continue ours")
    salted = hashlib.pbkdf2_hmac(
        "sha256", password, base64.b64decode(offer[b"s"]), int(offer[b"i"])
    )
    client_last = b"c=biws,r=" + offer[b"r"]
    conversation = b",".join([client_first, server_first, client_last])
    client_key = hmac.digest(salted, b"Client Key", "sha256")
    signature = hmac.digest(hashlib.sha256(client_key).digest(), conversation, "sha256")
    proof = bytes(left ^ right for left, right in zip(client_key, signature, strict=True))
    wire.send(b"p", client_last + b",p=" + base64.b64encode(proof))
    server_key = hmac.digest(salted, b"Server Key", "sha256")
    expected = b"v=" + base64.b64encode(hmac.digest(server_key, conversation, "sha256"))
    if not hmac.compare_digest(_scram_step(wire, expected=12), expected):
        raise ConnectionError("the server does not know the password either")


def _scram_step(wire: _Wire, expected: int) -> bytes:
    kind, body = wire.receive()
    if kind != b"R" or struct.unpack("!I", body[:4]) != (expected,):
        raise ConnectionError("the server left the SCRAM conversation")
    return body[4:]


def _decode_row(body: bytes) -> Row:
    (columns,) = struct.unpack("!H", body[:2])
    values: list[str | None] = []
    position = 2
    for _ in range(columns):
        (length,) = struct.unpack_from("!i", body, position)
        position += 4
        if length < 0:
            values.append(None)
            continue
        values.append(body[position : position + length].decode())
        position += length
    return tuple(values)


def _refusal(body: bytes) -> QueryRefused:
    fields = {part[:1]: part[1:].decode(errors="replace") for part in body.split(b"\0") if part}
    return QueryRefused(fields.get(b"C", "?????"), fields.get(b"M", ""))
