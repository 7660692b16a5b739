"""What a server says of itself."""

from datetime import datetime

import msgspec

from mainspring.domain.errors import MainspringError


class ServerDocument(msgspec.Struct, frozen=True, kw_only=True):
    """A server: its version, its store's clock, and what it allows."""

    version: str
    #: By which dues and leases are judged.
    now: datetime
    #: Where workers are served, ``HOST:PORT``; null: this server has no such door.
    grpc: str | None = None
    #: Whoever asks, as the audit names them.
    principal: str
    #: Whose everything is that they see and make; null: of the whole installation.
    tenant: str | None
    #: What they may do.
    rights: list[str]
    limits: dict[str, int]


class HealthDocument(msgspec.Struct, frozen=True, kw_only=True):
    """That a server is there."""

    status: str


class ErrorMeaning(msgspec.Struct, frozen=True, kw_only=True):
    """What a code means, wherever it appears."""

    code: str
    meaning: str
    #: What to do, where the error itself says nothing better.
    hint: str
    http_status: int
    grpc_status: str
    exit_code: int


def error_meaning(kind: type[MainspringError]) -> ErrorMeaning:
    """Return what a kind of error means."""
    return ErrorMeaning(
        code=kind.code,
        meaning=(kind.__doc__ or "").strip().partition("\n")[0],
        hint=kind.default_hint,
        http_status=kind.http_status,
        grpc_status=kind.grpc_status,
        exit_code=kind.exit_code,
    )
