"""Who may do what: rights, the scopes and roles that bundle them, and whoever holds some.

A *right* is about one kind of action. A key or a role names *scopes* (and single rights, where a
scope would be too much); ``rights_of`` is the one place that turns them into rights. A *principal*
is whoever stands behind a request; its tenant comes from its credential and from nowhere else.

Invariants
----------
* What is not granted is denied: an action without a right that it needs cannot be written down.
* A principal of a tenant never reaches beyond it, whatever its rights.
* ``Actor`` is what the audit says of who did something, and remembers from where.
"""

import difflib
from collections.abc import Iterable
from enum import StrEnum
from typing import Final, Self

import msgspec

from mainspring.domain.errors import Forbidden, InvalidInput


class Right(StrEnum):
    """One kind of action: what it is about, a dot, and what is done with it."""

    JOBS_SUBMIT = "jobs.submit"
    JOBS_READ = "jobs.read"
    JOBS_CANCEL = "jobs.cancel"
    #: Run a waiting job now, bring a dead one back.
    JOBS_RETRY = "jobs.retry"
    JOBS_PURGE = "jobs.purge"
    SCHEDULES_READ = "schedules.read"
    #: Create, edit, remove; calendars too.
    SCHEDULES_WRITE = "schedules.write"
    #: Pause, resume, fire by hand, skip, backfill.
    SCHEDULES_OPERATE = "schedules.operate"
    QUEUES_READ = "queues.read"
    QUEUES_OPERATE = "queues.operate"
    WORKERS_READ = "workers.read"
    WORKERS_OPERATE = "workers.operate"
    #: Kinds of jobs with their schemas.
    HANDLERS_READ = "handlers.read"
    WEBHOOKS_READ = "webhooks.read"
    WEBHOOKS_WRITE = "webhooks.write"
    #: Claim, beat, report: what a worker does.
    WORK = "work"
    TENANTS_READ = "tenants.read"
    TENANTS_WRITE = "tenants.write"
    KEYS_READ = "keys.read"
    KEYS_WRITE = "keys.write"
    AUDIT_READ = "audit.read"


_READ: Final = frozenset(
    {
        Right.JOBS_READ,
        Right.SCHEDULES_READ,
        Right.QUEUES_READ,
        Right.WORKERS_READ,
        Right.HANDLERS_READ,
        Right.WEBHOOKS_READ,
    }
)
_SUBMIT: Final = frozenset({Right.JOBS_SUBMIT, Right.HANDLERS_READ})
_OPERATE: Final = frozenset(
    {
        Right.JOBS_CANCEL,
        Right.JOBS_RETRY,
        Right.JOBS_PURGE,
        Right.SCHEDULES_WRITE,
        Right.SCHEDULES_OPERATE,
        Right.QUEUES_OPERATE,
        Right.WORKERS_OPERATE,
        Right.WEBHOOKS_WRITE,
    }
)

#: What keys are given.
SCOPES: Final[dict[str, frozenset[Right]]] = {
    "submit": _SUBMIT,
    "read": _READ,
    "operate": _OPERATE | _READ,
    "work": frozenset({Right.WORK, Right.HANDLERS_READ}),
    "admin": frozenset(Right),
}
#: What people are given.
ROLES: Final[dict[str, frozenset[Right]]] = {
    "viewer": _READ,
    "operator": _READ | _SUBMIT | _OPERATE,
    "admin": frozenset(Right),
}

_RIGHTS: Final = frozenset(right.value for right in Right)
_NAMES: Final = (*SCOPES, *ROLES, *sorted(_RIGHTS))


def rights_of(names: Iterable[str]) -> frozenset[Right]:
    """Return the rights that scopes, roles and single rights add up to.

    >>> sorted(rights_of(["submit", "jobs.cancel"]))
    [<Right.HANDLERS_READ: 'handlers.read'>, <Right.JOBS_CANCEL: 'jobs.cancel'>, \
<Right.JOBS_SUBMIT: 'jobs.submit'>]
    """
    found: set[Right] = set()
    for name in names:
        bundle = SCOPES.get(name) or ROLES.get(name)
        if bundle is not None:
            found |= bundle
        elif name in _RIGHTS:
            found.add(Right(name))
        else:
            near = difflib.get_close_matches(name, _NAMES, n=1)
            raise InvalidInput(
                f"scopes: {name[:80]!r} is no scope, role or right",
                hint=f"did you mean {near[0]!r}?" if near else f"use some of {', '.join(SCOPES)}",
            )
    return frozenset(found)


class Principal(msgspec.Struct, frozen=True, kw_only=True):
    """Whoever stands behind a request, by a credential that was checked."""

    #: ``key billing-bot``, ``user ada@example.com``, ``certificate worker-7``: for the audit.
    name: str
    rights: frozenset[Right]
    #: ``None``: one of the whole installation, which may name any tenant.
    tenant: str | None = None
    #: The key's id, where it is one.
    key_id: str | None = None

    def insist(self, right: Right) -> None:
        """Raise ``Forbidden`` unless it has the right."""
        if right not in self.rights:
            raise Forbidden(
                f"{self.name} has no right to {right.value}",
                hint=f"use a key with the scope {' or '.join(_scopes_with(right))}",
                details={"right": right.value},
            )

    def tenant_of(self, asked: str | None, default: str) -> str:
        """Return the tenant of something new: the own one, or the one that was asked for."""
        if self.tenant is None:
            return default if asked is None else asked
        if asked is not None and asked != self.tenant:
            raise Forbidden(
                f"{self.name} belongs to the tenant {self.tenant!r} and may not name another",
                hint="leave the tenant out: it comes from the key",
            )
        return self.tenant


#: Nobody in particular, where the operator switched access control off.
EVERYBODY: Final = Principal(name="anonymous", rights=frozenset(Right))

#: Whoever asks what everybody may ask.
NOBODY: Final = Principal(name="nobody", rights=frozenset())


def _scopes_with(right: Right) -> list[str]:
    return [name for name, rights in SCOPES.items() if right in rights]


class Actor(str):
    """Who did something, as the audit says it; ``source`` is from where."""

    __slots__ = ("source",)
    source: str

    def __new__(cls, name: str, source: str = "") -> Self:
        """Remember both."""
        made = super().__new__(cls, name)
        made.source = source
        return made


def source_of(actor: str) -> str:
    """Return from where somebody acts; empty where nobody said."""
    return actor.source if isinstance(actor, Actor) else ""
