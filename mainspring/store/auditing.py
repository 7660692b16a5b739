"""What the audit says of a change: one shape for every store, written in the change's transaction.

``before`` and ``after`` are what changed, as JSON objects; text that is JSON already goes in as
``raw``. What is too long to keep leaves its SHA-256, so that it can still be recognised.
"""

import hashlib
from collections.abc import Iterable, Mapping
from datetime import datetime
from typing import Final, NamedTuple
from urllib.parse import urlsplit

import msgspec

from mainspring.agenda.standing import Ruling, Standing, rolled_back
from mainspring.domain.access import source_of
from mainspring.domain.ids import BACKFILL, SCHEDULE, WEBHOOK, WORKER, show, show_job
from mainspring.domain.limits import AUDIT_BYTES_MAX
from mainspring.domain.schedule import MANUAL, Outcome
from mainspring.domain.states import JobState
from mainspring.domain.webhooks import WebhookView
from mainspring.ports.schedules import CalendarChange, NewBackfill
from mainspring.ports.store import CancelResult

Facts = Mapping[str, object]
_NONE: Final[Facts] = {}


class Line(NamedTuple):
    """One line: a subject, and what became of it."""

    subject: str
    #: ``None``: it concerns the whole installation.
    tenant: str | None = None
    detail: Facts | msgspec.Raw = _NONE
    before: Facts | None = None
    after: Facts | None = None


class Cancelled(NamedTuple):
    """What a cancel did to one job, and its line; ``None``: it changed nothing."""

    result: CancelResult
    line: Line | None = None


class Purged(NamedTuple):
    """What goes with a job that is deleted: the references that no row names any more."""

    references: tuple[str, ...]
    line: Line


class Dead(NamedTuple):
    """What the audit needs of a dead job before it is gone, or comes back."""

    id: bytes
    tenant: str
    kind: str
    tries: int
    crashes: int
    payload: str
    payload_ref: str | None
    result_ref: str | None

    def replayed(self, *, is_replaced: bool) -> Line:
        """Return the line of its coming back, perhaps with another payload."""
        before: dict[str, object] = {
            "state": JobState.DEAD,
            "tries": self.tries,
            "crashes": self.crashes,
            "payload_ref": self.payload_ref,
        }
        if is_replaced:
            before["payload"] = raw(self.payload)
        return Line(show_job(self.id), self.tenant, before=before, after={"state": JobState.READY})

    def purged(self) -> Purged:
        """Return what goes with it."""
        both = (self.payload_ref, self.result_ref)
        before = {
            "state": JobState.DEAD,
            "kind": self.kind,
            "tries": self.tries,
            "crashes": self.crashes,
            "payload_ref": self.payload_ref,
            "result_ref": self.result_ref,
        }
        line = Line(show_job(self.id), self.tenant, before=before)
        return Purged(tuple(each for each in both if each is not None), line)


class Kept(NamedTuple):
    """A line as its columns are."""

    subject: str
    tenant: str | None
    detail: str
    before: str | None
    after: str | None


def kept(line: Line) -> Kept:
    """Return the columns of a line."""
    return Kept(
        keepable(line.subject),
        line.tenant,
        _text(line.detail),
        None if line.before is None else _text(line.before),
        None if line.after is None else _text(line.after),
    )


def cancelled(result: CancelResult, tenant: str | None, former: str | None) -> Cancelled:
    """Return a result with its line."""
    if not result.changed:
        return Cancelled(result)
    before, after = {"state": former}, {"state": result.state}
    return Cancelled(result, Line(show_job(result.job_id), tenant, before=before, after=after))


def run_now_line(job_id: bytes, tenant: str, state: str, due_at: datetime) -> Line:
    """Return the line of a job that becomes due now."""
    before = {"state": state, "due_at": due_at}
    return Line(show_job(job_id), tenant, before=before, after={"state": JobState.READY})


def under(lines: Iterable[Line | None], detail: Facts) -> list[Line]:
    """Return the lines that there are, all of them with these circumstances."""
    return [line._replace(detail=detail) for line in lines if line is not None]


def signed(actor: str, action: str) -> dict[str, object]:
    """Return the columns that the lines of one change share."""
    return {
        "actor": keepable(actor),
        "source": keepable(source_of(actor)),
        "action": action,
    }


def keepable(text: str) -> str:
    """Return text as every store can keep it: without NUL characters and half surrogates."""
    return text.replace("\0", "\N{REPLACEMENT CHARACTER}").encode(errors="replace").decode()


def raw(text: str | bytes | None) -> msgspec.Raw | None:
    """Return JSON text that goes in as it is."""
    if text is None:
        return None
    return msgspec.Raw(text if isinstance(text, bytes) else text.encode())


def ruling_line(standing: Standing, ruling: Ruling) -> Line:
    """Return what the audit says of a ruling that somebody asked for."""
    is_new = ruling.action == "schedule.create"
    before: dict[str, object] = {"state": standing.state.value}
    after: dict[str, object] = {"state": ruling.state.value}
    if is_new or ruling.change is not None or ruling.action == "schedule.remove":
        before |= _defined(standing.version, standing.spec, standing.calendars)
        before["zones"] = standing.zones
    if is_new:
        after |= before
    if ruling.change is not None:
        change = ruling.change
        after |= _defined(standing.version + 1, change.spec, change.calendars)
        after["zones"] = change.zones
    if ruling.pause is not None:
        after |= {"reason": ruling.pause.reason, "until_ms": ruling.pause.until_ms}
    if ruling.action == "schedule.skip_next":
        before["skip_next"] = rolled_back(standing).cursor.skip_next
        after["skip_next"] = ruling.cursor.skip_next + sum(
            fire.row.outcome is Outcome.SKIPPED_ON_REQUEST for fire in ruling.fires
        )
    if ruling.action == "schedule.fire_now":
        by_hand = [fire.row.job_id for fire in ruling.fires if fire.row.sequence == MANUAL]
        after["jobs"] = [show_job(job_id) for job_id in by_hand if job_id is not None]
    if ruling.cancel:
        after["cancelled"] = [show_job(job_id) for job_id in ruling.cancel]
    named: Facts = {"name": standing.name}
    return Line(
        show(SCHEDULE, standing.id),
        standing.tenant,
        named if ruling.detail == "{}" else msgspec.Raw(ruling.detail.encode()),
        None if is_new else before,
        after,
    )


def calendar_line(wanted: CalendarChange, former: str | None) -> Line:
    """Return what the audit says of a calendar that is written or deleted."""
    return Line(
        wanted.name,
        wanted.tenant,
        before=None if former is None else {"definition": raw(former)},
        after=None if wanted.definition is None else {"definition": raw(wanted.definition)},
    )


def new_backfill_line(new: NewBackfill, tenant: str, fires: int) -> Line:
    """Return what the audit says of a backfill that begins."""
    range_ms = {"from_ms": new.from_at * 1_000, "until_ms": new.until_at * 1_000}
    facts = {"order": new.order, "concurrency": new.concurrency, "rate": new.rate}
    detail = {"backfill": show(BACKFILL, new.id)}
    after = {"state": "active", "fires": fires, **range_ms, **facts}
    return Line(show(SCHEDULE, new.schedule_id), tenant, detail, after=after)


def cancelled_backfill_line(backfill_id: bytes, schedule_id: bytes, tenant: str) -> Line:
    """Return what the audit says of a backfill that is cancelled."""
    return Line(
        show(SCHEDULE, schedule_id),
        tenant,
        {"backfill": show(BACKFILL, backfill_id)},
        before={"state": "active"},
        after={"state": "cancelled"},
    )


def drain_line(worker_id: bytes, tenant: str | None, name: str, state: str) -> Line:
    """Return what the audit says of a worker that is asked to drain."""
    before, after = {"state": state}, {"state": state, "drain_asked": True}
    return Line(show(WORKER, worker_id), tenant, {"name": name}, before, after)


def webhook_line(detail: str, before: WebhookView | None, after: WebhookView | None) -> Line:
    """Return what the audit says of an endpoint that is made, changed or deleted."""
    view = after or before
    assert view is not None, "an endpoint that never was has no line"
    return Line(
        show(WEBHOOK, view.id),
        view.tenant,
        msgspec.Raw(detail.encode()),
        None if before is None else _endpoint(before),
        None if after is None else _endpoint(after),
    )


def _endpoint(view: WebhookView) -> Facts:
    # Of the address the host alone: the rest may hold a key of the receiver's.
    facts: dict[str, object] = {
        "state": view.state,
        "version": view.version,
        "host": urlsplit(view.wanted.url).hostname,
        "events": view.wanted.events,
        "kinds": view.wanted.kinds,
        "queues": view.wanted.queues,
    }
    return facts


def _defined(version: int, spec: bytes, calendars: bytes | None) -> dict[str, object]:
    return {"version": version, "spec": raw(spec), "calendars": raw(calendars)}


def _text(facts: object) -> str:
    text = msgspec.json.encode(facts)
    if len(text) > AUDIT_BYTES_MAX:
        digest = hashlib.sha256(text).hexdigest()
        text = msgspec.json.encode({"bytes": len(text), "sha256": digest})
    return text.decode()
