"""What stands behind us fails: stores and object stores."""

from mainspring.domain.errors.base import Conflict, MainspringError


class ConnectionFailed(MainspringError):
    """The store cannot be reached."""

    code = "store_unreachable"
    http_status = 503
    grpc_status = "UNAVAILABLE"
    exit_code = 9
    default_hint = "check the address, that the server runs, and that this machine may connect"


class StoreNotMigrated(Conflict):
    """The store's tables are missing or older than this version needs."""

    code = "store_not_migrated"
    http_status = 503
    default_hint = "run: mainspring db migrate"


class StoreNotWritable(MainspringError):
    """The store cannot be written."""

    code = "store_not_writable"
    http_status = 507
    grpc_status = "UNAVAILABLE"
    exit_code = 9
    default_hint = "free some space or give write access; what was acknowledged is safe"


class StoreNewer(Conflict):
    """The store was migrated by a newer version that this one cannot work with."""

    code = "store_newer"
    http_status = 503
    default_hint = "install the newer version here, or use another store"


class OutcomeUnknown(MainspringError):
    """The connection broke while a change was under way: it may or may not have happened."""

    code = "outcome_unknown"
    http_status = 503
    grpc_status = "UNAVAILABLE"
    exit_code = 9
    default_hint = "repeat it: the same key or fence makes the repetition harmless"


class BlobUnavailable(MainspringError):
    """The object store that holds this payload or result cannot be read from here."""

    code = "blob_unavailable"
    http_status = 503
    grpc_status = "UNAVAILABLE"
    exit_code = 9
    default_hint = "name the object store that the workers use: --blobs, MAINSPRING_BLOBS"


class BlobDamaged(MainspringError):
    """What the object store returned is not what was stored."""

    code = "blob_damaged"
    default_hint = "restore the object from a backup; its key is in the message"
