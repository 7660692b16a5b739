"""Endpoints of webhooks: ``WebhookStore``."""

from datetime import timedelta
from typing import Final

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
from mainspring.store.sqlite.auditing import audit
from mainspring.store.sqlite.instants import HOUR_US, from_us, from_us_or_none
from mainspring.store.sqlite.packing import as_json
from mainspring.store.sqlite.part import Part
from mainspring.store.sqlite.unit import Row, Unit, ask
from mainspring.store.statements import Steps

#: Who disables what nobody asked to.
_MAINSPRING: Final = "mainspring"
_MICROSECOND: Final = timedelta(microseconds=1)
_wanted: Final = msgspec.json.Decoder(Wanted)
_secrets: Final = msgspec.json.Decoder(tuple[Secret, ...])


class Webhooks(Part):
    """Implements ``WebhookStore``."""

    async def create_webhook(self, new: NewWebhook, *, most: int, actor: str) -> bool:
        # No address: it may hold a key of the receiver's.
        detail = {"tenant": new.tenant, "events": new.wanted.events}

        def work(unit: Unit) -> bool:
            values = {
                "id": new.id,
                "tenant": new.tenant,
                "wanted": as_json(new.wanted),
                "secrets": as_json(new.secrets),
                "job_id": new.wanted.job_id,
                "most": most,
                "now": unit.now_us,
            }
            if unit.change("create_webhook", values):
                line = webhook_line(as_json(detail), None, _look(unit, new.id))
                audit(unit, actor, "webhook.create", [line])
                return True
            return unit.row("get_webhook", {"id": new.id}) is not None

        return await self._engine.write(work)

    async def get_webhook(self, webhook_id: bytes) -> WebhookView | None:
        found = await self.get_recipient(webhook_id)
        return None if found is None else found.view

    async def get_recipient(self, webhook_id: bytes) -> Recipient | None:
        values = {"id": webhook_id}
        row = await self._engine.read(lambda unit: unit.row("get_webhook", values))
        return None if row is None else Recipient(_view(row[:-1]), _secrets.decode(row[-1]))

    async def list_webhooks(
        self, tenant: str | None, *, limit: int, after: bytes | None = None
    ) -> list[WebhookView]:
        values = {"tenant": tenant, "after_id": after or b"", "page_size": limit}
        rows = await self._engine.read(lambda unit: unit.rows("list_webhooks", values))
        return [_view(row) for row in rows]

    async def list_listeners(self) -> list[Listener]:
        rows = await self._engine.read(lambda unit: unit.rows("list_listeners", {"tenant": None}))
        return [_listener(*row) for row in rows]

    async def change_webhook(
        self, webhook_id: bytes, change: WebhookChange, *, version: int, actor: str
    ) -> bool:
        def work(unit: Unit) -> bool:
            values = {
                "id": webhook_id,
                "wanted": None if change.wanted is None else as_json(change.wanted),
                "secrets": None if change.secrets is None else as_json(change.secrets),
                "state": change.state,
                "reason": change.reason,
                "version": version,
                "now": unit.now_us,
            }
            before = _look(unit, webhook_id)
            changed = unit.change("change_webhook", values) > 0
            if changed:
                line = webhook_line(change.detail, before, _look(unit, webhook_id))
                audit(unit, actor, change.action, [line])
            return changed

        return await self._engine.write(work)

    async def delete_webhook(self, webhook_id: bytes, *, actor: str) -> bool:
        def work(unit: Unit) -> bool:
            before = _look(unit, webhook_id)
            changed = unit.change("delete_webhook", {"id": webhook_id}) > 0
            if changed:
                audit(unit, actor, "webhook.delete", [webhook_line("{}", before, None)])
            return changed

        return await self._engine.write(work)

    async def note_delivery(
        self, webhook_id: bytes, *, succeeded: bool, failing_max: timedelta, gone: str = ""
    ) -> bool:
        def work(unit: Unit) -> bool:
            given = {"id": webhook_id, "now": unit.now_us}
            if succeeded:
                unit.change("note_webhook_success", given)
                return False
            reason = gone or f"nothing but failures for more than {failing_max.days} days"
            ending = {"gone": gone, "failing_max": failing_max // _MICROSECOND, "reason": reason}
            before = _look(unit, webhook_id)
            is_ended = unit.change("disable_failing_webhook", given | ending) > 0
            unit.change("note_webhook_failure", given)
            if is_ended:
                told = as_json({"reason": reason})
                line = webhook_line(told, before, _look(unit, webhook_id))
                audit(unit, _MAINSPRING, "webhook.disable", [line])
            return is_ended

        return await self._engine.write(work)

    async def forget_webhooks(self, limit: int) -> int:
        def work(unit: Unit) -> int:
            values = {"made_before": unit.now_us - HOUR_US, "batch_size": limit}
            return unit.change("forget_webhooks", values)

        return await self._engine.write(work)


def _look(unit: Unit, webhook_id: bytes) -> WebhookView | None:
    row = unit.row("get_webhook", {"id": webhook_id})
    return None if row is None else _view(row[:-1])


def listener_steps(tenant: str) -> Steps[list[Listener]]:
    """Return a tenant's active endpoints, inside a transaction that is open."""
    rows = yield ask("list_listeners", {"tenant": tenant})
    return [_listener(row[0], row[1], row[2]) for row in rows]


def _listener(webhook_id: bytes, tenant: str, wanted: str) -> Listener:
    return Listener(bytes(webhook_id), tenant, _wanted.decode(wanted))


def _view(row: Row) -> WebhookView:
    (
        webhook_id, tenant, wanted, state, version, created_at, changed_at, reason,
        last_success_at, last_failure_at, failing_since,
    ) = row  # fmt: skip
    return WebhookView(
        id=webhook_id,
        tenant=tenant,
        wanted=_wanted.decode(wanted),
        state=EndpointState(state),
        version=version,
        created_at=from_us(created_at),
        changed_at=from_us(changed_at),
        reason=reason,
        last_success_at=from_us_or_none(last_success_at),
        last_failure_at=from_us_or_none(last_failure_at),
        failing_since=from_us_or_none(failing_since),
    )
