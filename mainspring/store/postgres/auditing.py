"""Who did what: a line in the audit, in the transaction of what it tells."""

from collections.abc import Mapping
from datetime import datetime
from typing import Final

from mainspring.store.postgres.pool import load
from mainspring.store.postgres.rows import keepable
from mainspring.store.statements import Ask

_AUDIT: Final = load("audit")


def audit(at: datetime | None, actor: str, action: str, details: Mapping[str, str]) -> Ask:
    """Return what writes a line for each subject, with its detail as JSON text."""
    values: dict[str, object] = {
        "at": at,
        "actor": keepable(actor),
        "action": action,
        "subjects": list(details),
        "details": [keepable(detail) for detail in details.values()],
    }
    return Ask(_AUDIT, values)
