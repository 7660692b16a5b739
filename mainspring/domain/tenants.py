"""Tenants: who shares an installation with others."""

from datetime import datetime

import msgspec


class TenantView(msgspec.Struct, frozen=True, kw_only=True):
    """A tenant as people see it."""

    name: str
    created_at: datetime
    created_by: str = ""
    note: str = ""
    #: When its note, or whether it is suspended, was last changed.
    updated_at: datetime | None = None
    updated_by: str | None = None
    suspended_at: datetime | None = None
    suspended_by: str | None = None
    suspended_reason: str | None = None

    @property
    def is_suspended(self) -> bool:
        """Say whether its keys are refused."""
        return self.suspended_at is not None
