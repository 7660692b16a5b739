"""Who did what: lines in the audit, in the transaction of what they tell."""

from collections.abc import Sequence
from datetime import datetime
from typing import Final

from mainspring.store.auditing import Line, kept, signed
from mainspring.store.postgres.pool import load
from mainspring.store.statements import Ask

_AUDIT: Final = load("audit")


def audit(at: datetime | None, actor: str, action: str, lines: Sequence[Line]) -> Ask:
    """Return what writes these lines."""
    columns = [kept(line) for line in lines]
    values: dict[str, object] = {
        "at": at,
        "subjects": [each.subject for each in columns],
        "tenants": [each.tenant for each in columns],
        "details": [each.detail for each in columns],
        "before_each": [each.before for each in columns],
        "after_each": [each.after for each in columns],
    }
    return Ask(_AUDIT, values | signed(actor, action))
