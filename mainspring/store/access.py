"""Keys, tenants and the audit: the same steps in every store, each in its own dialect.

The statements of the stores have the same names, parameters and columns; how an instant or a list
travels is the dialect's.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Collection, Mapping, Sequence
from datetime import datetime
from functools import partial
from typing import Any, Final, Protocol, TypeVar

import msgspec

from mainspring.domain.errors import Conflict, NotFound
from mainspring.domain.keys import FoundKey, KeyState, KeyView, NewKey, prefix
from mainspring.domain.tenants import TenantView
from mainspring.domain.trail import AuditEntry, AuditFilter, AuditPlace
from mainspring.store.auditing import Line, keepable
from mainspring.store.statements import Ask, Steps

_Result = TypeVar("_Result")

_scopes: Final = msgspec.json.Decoder(tuple[str, ...])
_KEY_COLUMNS: Final = 12


class Dialect(Protocol):
    """How one store speaks, at one instant."""

    def ask(self, name: str, values: Mapping[str, object]) -> Ask:
        """Return the wish to have ``sql/NAME.sql`` run; the instant ``at`` is added."""
        ...

    def audit(self, actor: str, action: str, lines: Sequence[Line]) -> Ask:
        """Return what writes lines of the audit."""
        ...

    def instant(self, instant: datetime | None) -> object:
        """Return an instant as it is kept."""
        ...

    def instant_of(self, kept: Any) -> datetime:
        """Return a kept instant."""
        ...

    def many(self, values: Collection[object]) -> object:
        """Return a list as statements take it."""
        ...


class AccessPart(ABC):
    """Implements ``KeyStore``, ``TenantStore`` and ``AuditStore`` by steps."""

    @abstractmethod
    async def _write(self, steps: "Callable[[Dialect], Steps[_Result]]") -> _Result:
        """Follow the steps inside one transaction; they may be begun anew."""

    @abstractmethod
    async def _read(self, steps: "Callable[[Dialect], Steps[_Result]]") -> _Result:
        """Follow steps that change nothing."""

    async def create_key(self, new: NewKey, *, actor: str) -> KeyView:
        return await self._write(partial(_create_key, new=new, actor=actor))

    async def find_key(self, key_id: str) -> FoundKey | None:
        return await self._read(partial(_find_key, key_id=key_id))

    async def list_keys(
        self,
        tenant: str | None = None,
        *,
        name: str | None = None,
        with_ended: bool = False,
        limit: int,
        after: str | None = None,
    ) -> list[KeyView]:
        values: dict[str, object] = {
            "tenant": tenant,
            "name": name,
            "with_ended": with_ended,
            "row_limit": limit,
            "after_id": after,
        }
        return await self._read(partial(_list_keys, values=values))

    async def end_key(self, key_id: str, *, actor: str) -> bool:
        return await self._write(partial(_end_key, key_id=key_id, actor=actor))

    async def rotate_key(
        self, key_id: str, new: NewKey, *, overlap_seconds: int, actor: str
    ) -> KeyView:
        return await self._write(
            partial(
                _rotate_key, key_id=key_id, new=new, overlap_seconds=overlap_seconds, actor=actor
            )
        )

    async def note_uses(self, used_ats: Mapping[str, datetime]) -> None:
        if used_ats:
            await self._write(partial(_note_uses, used_ats=used_ats))

    async def put_tenant(self, name: str, *, note: str | None = None, actor: str) -> TenantView:
        return await self._write(partial(_put_tenant, name=name, note=note, actor=actor))

    async def ensure_tenants(self, names: Collection[str], *, actor: str) -> list[str]:
        if not names:
            return []
        return await self._write(partial(_ensure_tenants, names=names, actor=actor))

    async def get_tenant(self, name: str) -> TenantView | None:
        return await self._read(partial(_get_tenant, name=name))

    async def list_tenants(self, *, limit: int, after: str | None = None) -> list[TenantView]:
        return await self._read(partial(_list_tenants, limit=limit, after=after))

    async def suspend_tenant(self, name: str, *, reason: str, actor: str) -> bool:
        return await self._write(partial(_suspend_tenant, name=name, reason=reason, actor=actor))

    async def resume_tenant(self, name: str, *, actor: str) -> bool:
        return await self._write(partial(_resume_tenant, name=name, actor=actor))

    async def list_audit(
        self, wanted: AuditFilter, *, limit: int, before: AuditPlace | None = None
    ) -> list[AuditEntry]:
        return await self._read(partial(_list_audit, wanted=wanted, limit=limit, before=before))


# --- keys -------------------------------------------------------------------------------------


def _create_key(dialect: Dialect, new: NewKey, actor: str) -> Steps[KeyView]:
    """Keep a key, and register its tenant."""
    if new.tenant is not None:
        yield from _ensure_tenants(dialect, [new.tenant], actor)
    if (yield from _insert_key(dialect, new, actor)):
        yield dialect.audit(actor, "key.create", [_created(new)])
    else:
        known = yield dialect.ask("find_key", {"id": new.id})
        if not known:
            yield from _refuse_name(dialect, new)
    return (yield from _view(dialect, new.id))


def _insert_key(dialect: Dialect, new: NewKey, actor: str) -> Steps[bool]:
    values: dict[str, object] = {
        "id": new.id,
        "tenant": new.tenant,
        "name": new.name,
        "scopes": msgspec.json.encode(new.scopes).decode(),
        "secret_hash": new.secret_hash,
        "expires_at": dialect.instant(new.expires_at),
        "actor": keepable(actor),
    }
    return bool((yield dialect.ask("create_key", values)))


def _refuse_name(dialect: Dialect, new: NewKey) -> Steps[None]:
    holder = yield dialect.ask("find_key_holder", {"tenant": new.tenant, "name": new.name})
    raise Conflict(
        f"there is a key {new.name!r} already",
        hint="rotate it (mainspring keys rotate), end it, or take another name",
        details={"key": prefix(holder[0][0])} if holder else {},
    )


def _rotate_key(
    dialect: Dialect, key_id: str, new: NewKey, overlap_seconds: int, actor: str
) -> Steps[KeyView]:
    """Let a new key take the place of another."""
    rows = yield dialect.ask("guard_key", {"id": key_id})
    if not rows:
        raise NotFound(f"there is no key {prefix(key_id)}")
    _, name, tenant, scopes, expires_at, ended_at, replaced_by = rows[0]
    if replaced_by != new.id:
        if ended_at is not None or replaced_by is not None:
            how = "was ended" if ended_at is not None else f"was replaced by {prefix(replaced_by)}"
            raise Conflict(f"the key {prefix(key_id)} {how}", hint="make a new one")
        replaced = {"id": key_id, "successor": new.id, "overlap_seconds": overlap_seconds}
        good_until = (yield dialect.ask("replace_key", replaced))[0][0]
        new = msgspec.structs.replace(new, name=name, tenant=tenant, scopes=_scopes.decode(scopes))
        yield from _insert_key(dialect, new, actor)
        was = None if expires_at is None else dialect.instant_of(expires_at)
        line = Line(
            prefix(key_id),
            tenant,
            {"name": name},
            before={"expires_at": was},
            after={
                "expires_at": dialect.instant_of(good_until),
                "replaced_by": prefix(new.id),
            },
        )
        yield dialect.audit(actor, "key.rotate", [line])
        yield dialect.audit(actor, "key.create", [_created(new)])
    return (yield from _view(dialect, new.id))


def _created(new: NewKey) -> Line:
    after = {"scopes": new.scopes, "expires_at": new.expires_at}
    return Line(prefix(new.id), new.tenant, {"name": new.name}, after=after)


def _end_key(dialect: Dialect, key_id: str, actor: str) -> Steps[bool]:
    """Make a key useless."""
    rows = yield dialect.ask("end_key", {"id": key_id, "actor": keepable(actor)})
    for name, tenant in rows:
        line = Line(
            prefix(key_id),
            tenant,
            {"name": name},
            before={"is_ended": False},
            after={"is_ended": True},
        )
        yield dialect.audit(actor, "key.end", [line])
    return bool(rows)


def _find_key(dialect: Dialect, key_id: str) -> Steps[FoundKey | None]:
    """Return a key with what is kept of its secret."""
    rows = yield dialect.ask("find_key", {"id": key_id})
    if not rows:
        return None
    *shown, secret_hash, left_ms, suspended_reason = rows[0]
    return FoundKey(
        view=_key_view(dialect, shown),
        secret_hash=bytes(secret_hash),
        left_ms=None if left_ms is None else max(0, left_ms),
        suspended_reason=suspended_reason,
    )


def _list_keys(dialect: Dialect, values: Mapping[str, object]) -> Steps[list[KeyView]]:
    """Return keys by name."""
    rows = yield dialect.ask("list_api_keys", values)
    return [_key_view(dialect, row) for row in rows]


def _note_uses(dialect: Dialect, used_ats: Mapping[str, datetime]) -> Steps[None]:
    """Remember when keys were last used."""
    ids = sorted(used_ats)
    values = {
        "ids": dialect.many(ids),
        "used_ats": dialect.many([dialect.instant(used_ats[key_id]) for key_id in ids]),
    }
    yield dialect.ask("note_uses", values)


def _view(dialect: Dialect, key_id: str) -> Steps[KeyView]:
    rows = yield dialect.ask("find_key", {"id": key_id})
    return _key_view(dialect, tuple(rows[0])[:_KEY_COLUMNS])


def _key_view(dialect: Dialect, row: Sequence[Any]) -> KeyView:
    (
        key_id, name, tenant, scopes, created_at, created_by, expires_at, ended_at, ended_by,
        used_at, replaced_by, state,
    ) = row  # fmt: skip
    return KeyView(
        id=key_id,
        name=name,
        tenant=tenant,
        scopes=_scopes.decode(scopes),
        state=KeyState(state),
        created_at=dialect.instant_of(created_at),
        created_by=created_by,
        expires_at=_instant_or_none(dialect, expires_at),
        ended_at=_instant_or_none(dialect, ended_at),
        ended_by=ended_by,
        used_at=_instant_or_none(dialect, used_at),
        replaced_by=replaced_by,
    )


def _instant_or_none(dialect: Dialect, kept: object) -> datetime | None:
    return None if kept is None else dialect.instant_of(kept)


# --- tenants ----------------------------------------------------------------------------------


def _ensure_tenants(dialect: Dialect, names: Collection[str], actor: str) -> Steps[list[str]]:
    """Register those that are not."""
    values = {"names": dialect.many(sorted(set(names))), "actor": keepable(actor)}
    found = sorted(row[0] for row in (yield dialect.ask("ensure_tenants", values)))
    if found:
        lines = [Line(name, name, after={"note": ""}) for name in found]
        yield dialect.audit(actor, "tenant.create", lines)
    return found


def _put_tenant(dialect: Dialect, name: str, note: str | None, actor: str) -> Steps[TenantView]:
    """Register a tenant, or change its note."""
    yield from _ensure_tenants(dialect, [name], actor)
    known = _tenant_view(dialect, (yield dialect.ask("guard_tenant", {"name": name}))[0])
    if note is None or note == known.note:
        return known
    values = {"name": name, "note": note, "actor": keepable(actor)}
    rows = yield dialect.ask("note_tenant", values)
    line = Line(name, name, before={"note": known.note}, after={"note": note})
    yield dialect.audit(actor, "tenant.edit", [line])
    return _tenant_view(dialect, rows[0])


def _get_tenant(dialect: Dialect, name: str) -> Steps[TenantView | None]:
    """Return a tenant that is registered."""
    rows = yield dialect.ask("get_tenant", {"name": name})
    return _tenant_view(dialect, rows[0]) if rows else None


def _list_tenants(dialect: Dialect, limit: int, after: str | None) -> Steps[list[TenantView]]:
    """Return tenants by name."""
    rows = yield dialect.ask("list_tenants", {"row_limit": limit, "after_name": after})
    return [_tenant_view(dialect, row) for row in rows]


def _suspend_tenant(dialect: Dialect, name: str, reason: str, actor: str) -> Steps[bool]:
    """Have its keys refused."""
    rows = yield dialect.ask("guard_tenant", {"name": name})
    if not rows or _tenant_view(dialect, rows[0]).is_suspended:
        return False
    yield dialect.ask(
        "suspend_tenant", {"name": name, "reason": keepable(reason), "actor": keepable(actor)}
    )
    before, after = {"is_suspended": False}, {"is_suspended": True, "reason": reason}
    yield dialect.audit(actor, "tenant.suspend", [Line(name, name, before=before, after=after)])
    return True


def _resume_tenant(dialect: Dialect, name: str, actor: str) -> Steps[bool]:
    """End a suspension."""
    rows = yield dialect.ask("guard_tenant", {"name": name})
    known = _tenant_view(dialect, rows[0]) if rows else None
    if known is None or not known.is_suspended:
        return False
    yield dialect.ask("resume_tenant", {"name": name, "actor": keepable(actor)})
    before = {"is_suspended": True, "reason": known.suspended_reason}
    line = Line(name, name, before=before, after={"is_suspended": False})
    yield dialect.audit(actor, "tenant.resume", [line])
    return True


def _tenant_view(dialect: Dialect, row: Sequence[Any]) -> TenantView:
    (
        name, created_at, created_by, note, updated_at, updated_by, suspended_at, suspended_by,
        suspended_reason,
    ) = row  # fmt: skip
    return TenantView(
        name=name,
        created_at=dialect.instant_of(created_at),
        created_by=created_by,
        note=note,
        updated_at=_instant_or_none(dialect, updated_at),
        updated_by=updated_by,
        suspended_at=_instant_or_none(dialect, suspended_at),
        suspended_by=suspended_by,
        suspended_reason=suspended_reason,
    )


# --- the audit --------------------------------------------------------------------------------


def _list_audit(
    dialect: Dialect, wanted: AuditFilter, limit: int, before: AuditPlace | None
) -> Steps[list[AuditEntry]]:
    """Return entries, newest first."""
    values = {
        "subject": wanted.subject,
        "actor": wanted.actor,
        "action": wanted.action,
        "tenant": wanted.tenant,
        "from_at": dialect.instant(wanted.from_at),
        "until_at": dialect.instant(wanted.until_at),
        "before_at": dialect.instant(None if before is None else before.at),
        "before_number": 0 if before is None else before.number,
        "row_limit": limit,
    }
    rows = yield dialect.ask("list_audit", values)
    return [_entry(dialect, row) for row in rows]


def _entry(dialect: Dialect, row: Sequence[Any]) -> AuditEntry:
    at, number, actor, source, action, subject, tenant, detail, before, after = row
    return AuditEntry(
        at=dialect.instant_of(at),
        number=number,
        actor=actor,
        source=source,
        action=action,
        subject=subject,
        tenant=tenant,
        detail=detail.encode(),
        before=None if before is None else before.encode(),
        after=None if after is None else after.encode(),
    )
