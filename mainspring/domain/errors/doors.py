"""What the doors of a server refuse, and a server that is not there."""

from mainspring.domain.errors.bad_input import InvalidInput
from mainspring.domain.errors.base import Conflict, LimitReached, MainspringError


class Unauthenticated(MainspringError):
    """Nobody is known by the credential that was given, or none was given."""

    code = "unauthenticated"
    http_status = 401
    grpc_status = "UNAUTHENTICATED"
    exit_code = 4
    default_hint = "send a key: Authorization: Bearer ms_live_..., or MAINSPRING_KEY"


class KeyExpired(Unauthenticated):
    """This key has expired or was ended."""

    code = "key_expired"
    default_hint = "ask an administrator for a new one: mainspring keys create or rotate"


class Forbidden(MainspringError):
    """Whoever asks has no right to this."""

    code = "forbidden"
    http_status = 403
    grpc_status = "PERMISSION_DENIED"
    exit_code = 4
    default_hint = "use a key that has the right which the message names"


class TenantSuspended(Forbidden):
    """This tenant was suspended; nothing of it is taken in or changed."""

    code = "tenant_suspended"
    default_hint = "an administrator can resume it: mainspring tenants resume"


class RateLimited(LimitReached):
    """This key asks more often than it may."""

    code = "rate_limited"
    default_hint = "wait for as long as retry_after says, then try again"


class Changed(Conflict):
    """It was changed since it was read."""

    code = "changed"
    http_status = 412
    default_hint = "read it again, then decide: the ETag of the answer goes into If-Match"


class MethodNotAllowed(MainspringError):
    """This path does not take this method."""

    code = "method_not_allowed"
    http_status = 405
    grpc_status = "UNIMPLEMENTED"
    default_hint = "the header Allow names the methods that it takes"


class UnsupportedMedia(InvalidInput):
    """The body is of a type that is not taken here."""

    code = "unsupported_media_type"
    http_status = 415
    default_hint = "send JSON, with Content-Type: application/json"


class ServerUnreachable(MainspringError):
    """The server cannot be reached."""

    code = "server_unreachable"
    http_status = 503
    grpc_status = "UNAVAILABLE"
    exit_code = 9
    default_hint = "check the address, that the server runs, and that this machine may connect"
