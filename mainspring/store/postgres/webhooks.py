"""Endpoints of webhooks: ``WebhookStore``."""

from collections.abc import Mapping
from datetime import timedelta
from typing import Final
from uuid import UUID

import asyncpg
import msgspec

from mainspring.domain.webhooks import (
    EndpointState,
    Listener,
    NewWebhook,
    Recipient,
    Secret,
    Wanted,
    WebhookView,
)
from mainspring.ports.webhooks import WebhookChange
from mainspring.store.auditing import webhook_line
from mainspring.store.postgres.auditing import audit
from mainspring.store.postgres.part import Part
from mainspring.store.postgres.pool import Connection, bind, load
from mainspring.store.postgres.rows import json_text, keepable
from mainspring.store.statements import Ask, Statement, Steps

_CREATE: Final = load("create_webhook")
_GET: Final = load("get_webhook")
_LIST: Final = load("list_webhooks")
_LISTENERS: Final = load("list_listeners")
_CHANGE: Final = load("change_webhook")
_DELETE: Final = load("delete_webhook")
_NOTE_SUCCESS: Final = load("note_webhook_success")
_NOTE_FAILURE: Final = load("note_webhook_failure")
_FORGET: Final = load("forget_webhooks")

#: Who disables what nobody asked to.
_MAINSPRING: Final = "mainspring"
_wanted: Final = msgspec.json.Decoder(Wanted)
_secrets: Final = msgspec.json.Decoder(tuple[Secret, ...])


class Webhooks(Part):
    """Implements ``WebhookStore``."""

    async def create_webhook(self, new: NewWebhook, *, most: int, actor: str) -> bool:
        values: dict[str, object] = {
            "at": self._at(),
            "id": new.id,
            "tenant": new.tenant,
            "wanted": keepable(json_text(new.wanted)),
            "secrets": json_text(new.secrets),
            "job_id": new.wanted.job_id,
            "most": most,
        }
        # No address: it may hold a key of the receiver's.
        detail = json_text({"tenant": new.tenant, "events": new.wanted.events})
        told = (actor, "webhook.create", detail)
        if await self._change(_CREATE, values, told):
            return True
        return await self.get_webhook(new.id) is not None

    async def get_webhook(self, webhook_id: bytes) -> WebhookView | None:
        found = await self.get_recipient(webhook_id)
        return None if found is None else found.view

    async def get_recipient(self, webhook_id: bytes) -> Recipient | None:
        rows = await self._pools.general.fetch(_GET, {"id": webhook_id}, changes=False)
        if not rows:
            return None
        return Recipient(_view(rows[0]), _secrets.decode(rows[0]["secrets"]))

    async def list_webhooks(
        self, tenant: str | None, *, limit: int, after: bytes | None = None
    ) -> list[WebhookView]:
        values: dict[str, object] = {"tenant": tenant, "after_id": after, "row_limit": limit}
        return [_view(row) for row in await self._pools.general.fetch(_LIST, values, changes=False)]

    async def list_listeners(self) -> list[Listener]:
        rows = await self._pools.general.fetch(_LISTENERS, {"tenant": None}, changes=False)
        return [_listener(*row) for row in rows]

    async def change_webhook(
        self, webhook_id: bytes, change: WebhookChange, *, version: int, actor: str
    ) -> bool:
        values: dict[str, object] = {
            "at": self._at(),
            "id": webhook_id,
            "wanted": None if change.wanted is None else keepable(json_text(change.wanted)),
            "secrets": None if change.secrets is None else json_text(change.secrets),
            "state": None if change.state is None else change.state.value,
            "reason": keepable(change.reason),
            "version": version,
        }
        return await self._change(_CHANGE, values, (actor, change.action, change.detail))

    async def delete_webhook(self, webhook_id: bytes, *, actor: str) -> bool:
        return await self._change(_DELETE, {"id": webhook_id}, (actor, "webhook.delete", "{}"))

    async def note_delivery(
        self, webhook_id: bytes, *, succeeded: bool, failing_max: timedelta, gone: str = ""
    ) -> bool:
        at = self._at()
        if succeeded:
            values: dict[str, object] = {"at": at, "id": webhook_id}
            await self._pools.general.fetch(_NOTE_SUCCESS, values, changes=True)
            return False
        reason = gone or _only_failures(failing_max)
        values = {
            "at": at,
            "id": webhook_id,
            "gone": gone,
            "failing_max": failing_max,
            "reason": keepable(reason),
        }

        async def work(connection: Connection) -> bool:
            before = await _look(connection, webhook_id)
            rows = await connection.fetch(_NOTE_FAILURE.text, *bind(_NOTE_FAILURE, values))
            is_ended = bool(rows) and rows[0]["ended"]
            if is_ended:
                told = json_text({"reason": reason})
                line = webhook_line(told, before, await _look(connection, webhook_id))
                ask = audit(at, _MAINSPRING, "webhook.disable", [line])
                await connection.execute(ask.statement.text, *bind(ask.statement, ask.values))
            return is_ended

        return await self._pools.general.transaction(work)

    async def forget_webhooks(self, limit: int) -> int:
        values: dict[str, object] = {"at": self._at(), "row_limit": limit}
        return len(await self._pools.general.fetch(_FORGET, values, changes=True))

    async def _change(
        self, statement: Statement, values: Mapping[str, object], told: tuple[str, str, str]
    ) -> bool:
        """Run a statement that answers what it changed, with its line in the audit."""
        actor, action, detail = told
        at, webhook_id = self._at(), values["id"]
        assert isinstance(webhook_id, bytes)

        async def work(connection: Connection) -> bool:
            before = await _look(connection, webhook_id)
            changed = await connection.fetch(statement.text, *bind(statement, values))
            if changed:
                line = webhook_line(detail, before, await _look(connection, webhook_id))
                ask = audit(at, actor, action, [line])
                await connection.execute(ask.statement.text, *bind(ask.statement, ask.values))
            return bool(changed)

        return await self._pools.general.transaction(work)


async def _look(connection: Connection, webhook_id: bytes) -> WebhookView | None:
    rows = await connection.fetch(_GET.text, *bind(_GET, {"id": webhook_id}))
    return _view(rows[0]) if rows else None


def listener_steps(tenant: str) -> Steps[list[Listener]]:
    """Return a tenant's active endpoints, inside a transaction that is open."""
    rows = yield Ask(_LISTENERS, {"tenant": tenant})
    return [_listener(row[0], row[1], row[2]) for row in rows]


def _listener(webhook_id: str, tenant: str, wanted: str) -> Listener:
    return Listener(UUID(webhook_id).bytes, tenant, _wanted.decode(wanted))


def _only_failures(failing_max: timedelta) -> str:
    return f"nothing but failures for more than {failing_max.days} days"


def _view(row: asyncpg.Record) -> WebhookView:
    return WebhookView(
        id=row["id"],
        tenant=row["tenant"],
        wanted=_wanted.decode(row["wanted"]),
        state=EndpointState(row["state"]),
        version=row["version"],
        created_at=row["created_at"],
        changed_at=row["changed_at"],
        reason=row["reason"],
        last_success_at=row["last_success_at"],
        last_failure_at=row["last_failure_at"],
        failing_since=row["failing_since"],
    )
