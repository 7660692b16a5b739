"""The audit trail: who did what to which subject, what it was before and after, and from where.

Actions are a noun, a dot and a verb: ``job.cancel``, ``queue.pause``, ``schedule.edit``,
``key.rotate``.
"""

from datetime import datetime

import msgspec


class AuditPlace(msgspec.Struct, frozen=True):
    """Where an entry stands in the audit: by instant, then in the order of writing."""

    at: datetime
    number: int


class AuditEntry(msgspec.Struct, frozen=True, kw_only=True):
    """One change, as it was written down with it."""

    at: datetime
    number: int
    actor: str
    #: From where: an address, a host; empty where nobody said.
    source: str
    action: str
    #: A job, a schedule, a worker or a key by id; a queue, a calendar or a tenant by name.
    subject: str
    #: ``None``: it concerns the whole installation.
    tenant: str | None
    #: Circumstances, as JSON text: a reason, a name, a count.
    detail: bytes
    #: What changed, as JSON text; ``None`` where there was nothing, or is nothing any more.
    before: bytes | None = None
    after: bytes | None = None

    @property
    def place(self) -> AuditPlace:
        """Return where it stands, to go on from there."""
        return AuditPlace(self.at, self.number)


class AuditFilter(msgspec.Struct, frozen=True, kw_only=True):
    """Which entries a list means; an empty filter means all."""

    subject: str | None = None
    actor: str | None = None
    #: One action, or all of a noun: ``queue`` means ``queue.pause`` and ``queue.resume``.
    action: str | None = None
    tenant: str | None = None
    #: From one instant on, up to but not including another.
    from_at: datetime | None = None
    until_at: datetime | None = None
