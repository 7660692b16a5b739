"""The root of all errors, and those that others are kinds of."""

from collections.abc import Mapping
from typing import ClassVar


class MainspringError(Exception):
    """Something went wrong inside Mainspring."""

    code: ClassVar[str] = "internal"
    http_status: ClassVar[int] = 500
    grpc_status: ClassVar[str] = "INTERNAL"
    exit_code: ClassVar[int] = 1
    default_hint: ClassVar[str] = "run again with --debug and report what it prints"

    def __init__(
        self,
        message: str | None = None,
        *,
        hint: str | None = None,
        details: Mapping[str, object] | None = None,
    ) -> None:
        """Keep the message (the class docstring's first line by default), hint and details."""
        first_line = (self.__doc__ or "").strip().partition("\n")[0]
        self.message: str = message or first_line
        self.hint: str = hint or self.default_hint
        self.details: dict[str, object] = dict(details or {})
        super().__init__(self.message)

    def __str__(self) -> str:
        """Return the message alone; code and hint are printed by whoever shows the error."""
        return self.message


class NotFound(MainspringError):
    """There is no such thing."""

    code = "not_found"
    http_status = 404
    grpc_status = "NOT_FOUND"
    exit_code = 3
    default_hint = "check the id; history older than the retention is gone"


class Conflict(MainspringError):
    """The present state does not allow this."""

    code = "conflict"
    http_status = 409
    grpc_status = "FAILED_PRECONDITION"
    exit_code = 6
    default_hint = "look at the present state, then decide again"


class LimitReached(MainspringError):
    """A limit was reached."""

    code = "limit_reached"
    http_status = 429
    grpc_status = "RESOURCE_EXHAUSTED"
    exit_code = 6
    default_hint = "send less, or raise the limit that the message names"


def with_index(error: MainspringError, index: int, count: int) -> MainspringError:
    """Tell which submission of several is the bad one."""
    if count > 1:
        error.message = f"submission {index + 1} of {count}: {error.message}"
        error.args = (error.message,)
        error.details["index"] = index
    return error
