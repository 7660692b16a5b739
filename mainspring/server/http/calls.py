"""What a route is handed of a request, and what it may answer with beside a document."""

import base64
import hashlib
from collections.abc import AsyncGenerator, Mapping, Sequence
from typing import Final, Generic, NamedTuple, Protocol, TypeVar

import msgspec

from mainspring.domain.access import Actor, Principal
from mainspring.domain.errors import InvalidCursor, InvalidId, LimitReached
from mainspring.domain.ids import ID_BYTES, parse_job
from mainspring.domain.job import DEFAULT_TENANT
from mainspring.domain.limits import NAMED_JOBS_MAX
from mainspring.domain.names import check_key
from mainspring.ports.gateway import ClientGateway
from mainspring.server.doorkeeper import Doorkeeper
from mainspring.server.events import Hub

T = TypeVar("T")
_FINGERPRINT_BYTES: Final = 6


class Request(NamedTuple):
    """One request as it came in, its body already read."""

    method: str
    path: str
    query: bytes
    #: Names in lower case.
    headers: Mapping[str, str]
    body: bytes
    peer: str
    #: Names the request in answers and logs.
    id: str


class House(Protocol):
    """What stands behind the doors."""

    @property
    def doorkeeper(self) -> Doorkeeper:
        """Return who knows who may come in."""

    def gateway(self, tenant: str | None) -> ClientGateway:
        """Return a gateway that reaches no further than a tenant; ``None``: everywhere."""

    @property
    def grpc(self) -> str | None:
        """Return where the other door is, ``HOST:PORT``, if it is open."""

    def new_request_id(self) -> str:
        """Return a name for a request that brought none."""

    @property
    def hub(self) -> Hub | None:
        """Return who tells of live changes, where that is done."""


class Call(NamedTuple):
    """A request by somebody who may make it."""

    request: Request
    principal: Principal
    #: Reaches no further than the principal.
    gateway: ClientGateway
    house: House

    @property
    def actor(self) -> Actor:
        """Return who stands in the audit, and from where."""
        return Actor(self.principal.name, self.request.peer)

    def tenant(self, asked: str | None) -> str:
        """Return the tenant of something that is named or made."""
        return self.principal.tenant_of(asked, DEFAULT_TENANT)

    def any_tenant(self, asked: str | None) -> str | None:
        """Return the tenant that a list is about; ``None``: all of them."""
        if self.principal.tenant is None:
            return asked
        return self.tenant(asked)


def job_named(option: str, text: str) -> bytes:
    """Return the job that an option names, or raise naming the option."""
    try:
        return parse_job(text)
    except InvalidId as error:
        error.message = f"{option}: {error.message}"
        raise


def jobs_named(ids: Sequence[str]) -> list[bytes]:
    """Return the jobs that a body names, each once; a bad one is pointed at."""
    if len(ids) > NAMED_JOBS_MAX:
        raise LimitReached(
            f"{len(ids):,} ids at once, the limit is {NAMED_JOBS_MAX:,}",
            hint="name them in several requests",
            details={"pointer": "/ids"},
        )
    found: dict[bytes, None] = {}
    for place, text in enumerate(ids):
        try:
            found[parse_job(text)] = None
        except InvalidId as error:
            error.details["pointer"] = f"/ids/{place}"
            raise
    return list(found)


#: Says that nothing was made: the key named what was there already.
REPLAYED: Final = ("idempotency-replayed", "true")


def header_key(call: Call) -> str | None:
    """Return the key under which a request may be sent again."""
    given = call.request.headers.get("idempotency-key")
    if given is None:
        return None
    # The draft standard has it in quotes; people leave them out.
    plain = given[1:-1] if len(given) > 1 and given[0] == given[-1] == '"' else given
    return check_key("Idempotency-Key", plain)


class Answer(msgspec.Struct, Generic[T], frozen=True):
    """A document with more to say than that it is there."""

    document: T
    status: int | None = None
    headers: Sequence[tuple[str, str]] = ()


class Stream(NamedTuple):
    """An answer without a known end."""

    media_type: str
    chunks: AsyncGenerator[bytes, None]


class Cursor:
    """Cursors of one question: opaque, and refused by every other question.

    >>> of_dead = Cursor("jobs", "state=dead")
    >>> of_dead.read(of_dead.text(b"position"))
    b'position'
    """

    def __init__(self, *question: object) -> None:
        """Take all that decides which items come, and in which order."""
        digest = hashlib.sha256(repr(question).encode()).digest()
        self._fingerprint = digest[:_FINGERPRINT_BYTES]

    def text(self, position: bytes | None) -> str | None:
        """Return the cursor that goes on behind a position; nothing behind the last one."""
        if position is None:
            return None
        return base64.urlsafe_b64encode(self._fingerprint + position).rstrip(b"=").decode()

    def read(self, text: str | None) -> bytes | None:
        """Return the position, or raise ``InvalidCursor``."""
        if text is None:
            return None
        try:
            raw = base64.b64decode(text + "=" * (-len(text) % 4), b"-_", validate=True)
        except ValueError:
            raise InvalidCursor(f"cursor: {text[:80]!r} is no cursor of ours") from None
        if raw[:_FINGERPRINT_BYTES] != self._fingerprint:
            raise InvalidCursor("cursor: it continues another question")
        return raw[_FINGERPRINT_BYTES:]

    def read_id(self, text: str | None) -> bytes | None:
        """Return the position of a list that goes by ids, or raise ``InvalidCursor``."""
        position = self.read(text)
        if position is not None and len(position) != ID_BYTES:
            raise InvalidCursor("cursor: it is no cursor of ours")
        return position
