"""One question at least for every method of a gateway, about what another tenant has."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from datetime import timedelta
from typing import Any, Final

from mainspring.domain.job import HandlerInfo, JobFilter
from mainspring.domain.outcome import Progress, Report, Succeeded
from mainspring.domain.trail import AuditFilter
from mainspring.ports.access import KeyDraft
from mainspring.ports.gateway import Bulk, ClientGateway, Submission, WorkerGateway
from mainspring.ports.operations import OperationAsk
from mainspring.ports.schedules import ScheduleFilter
from mainspring.ports.scheduling import Application, BackfillAsk, CalendarDraft
from mainspring.ports.store import Lane
from mainspring.ports.webhooks import WebhookDraft, WebhookEdit
from mainspring.testing.builders import KIND, claim_ask, log_line, new_session
from mainspring.testing.clock import BEGINNING
from tests.tenants.neighbours import ACME, SECRET, SHARED, Things, draft

Ask = Callable[[Any, Things], Awaitable[object]]
_EVE: Final = "eve"
_AGES: Final = BackfillAsk(
    from_at=BEGINNING - timedelta(hours=5), until_at=BEGINNING - timedelta(hours=1)
)


def methods(gateway: type) -> set[str]:
    """Return everything that a gateway can be asked."""
    return {name for name in dir(gateway) if not name.startswith("_")}


def numbered(questions: Mapping[str, Sequence[Ask]]) -> list[tuple[str, Ask]]:
    return [
        (f"{name}-{number}", ask)
        for name, asks in questions.items()
        for number, ask in enumerate(asks)
    ]


def _operation(action: str, query: str) -> Ask:
    async def ask(gate: ClientGateway, _: Things) -> object:
        # With force: it must not matter that somebody insists.
        wanted = Bulk(action=action, query=query, force=True)
        return await gate.operate(wanted, dry_run=False, actor=_EVE)

    return ask


async def _whole_page(gate: ClientGateway, _: Things) -> object:
    return await gate.list_jobs(JobFilter(), limit=50, before=None)


CLIENT: Final[Mapping[str, Sequence[Ask]]] = {
    "schedules": [],
    "operations": [],
    "access": [],
    "webhooks": [],
    "submit": [
        lambda gate, t: gate.submit([Submission(kind="k", kind_is_known=True, tenant=ACME)]),
        lambda gate, t: gate.submit([Submission(kind=f"{SECRET}.work")]),
    ],
    "get_job": [
        lambda gate, t: gate.get_job(t.waiting),
        lambda gate, t: gate.get_job(t.running),
        lambda gate, t: gate.get_job(t.dead),
    ],
    "list_jobs": [
        _whole_page,
        lambda gate, t: gate.list_jobs(JobFilter(tenant=ACME), limit=50, before=None),
        lambda gate, t: gate.list_jobs(JobFilter(kinds=frozenset({KIND})), limit=9, before=None),
    ],
    "find": [
        lambda gate, t: gate.find(""),
        lambda gate, t: gate.find("tenant:acme"),
        lambda gate, t: gate.find("state:dead"),
    ],
    "operate": [
        _operation("cancel", f"kind:{KIND}"),
        _operation("cancel", "tenant:acme"),
        _operation("retry", f"kind:{KIND}"),
        _operation("replay", "state:dead"),
        _operation("purge", "state:dead"),
    ],
    "list_groups": [
        lambda gate, t: gate.list_groups(JobFilter()),
        lambda gate, t: gate.list_groups(JobFilter(tenant=ACME)),
    ],
    "list_attempts": [
        lambda gate, t: gate.list_attempts(t.running),
        lambda gate, t: gate.list_attempts(t.dead),
    ],
    "list_logs": [
        lambda gate, t: gate.list_logs(t.running),
        lambda gate, t: gate.list_logs(t.dead),
    ],
    "wait_for_change": [
        lambda gate, t: gate.wait_for_change(t.running, None, 0.0),
        lambda gate, t: gate.wait_for_change(t.dead, None, 0.0),
    ],
    "wait_for_ends": [
        lambda gate, t: gate.wait_for_ends([t.dead], 0.0),
        lambda gate, t: gate.wait_for_ends([t.waiting], 0.0),
    ],
    "read_file": [lambda gate, t: gate.read_file(t.file)],
    "cancel": [
        lambda gate, t: gate.cancel(t.jobs, actor=_EVE),
        lambda gate, t: gate.cancel(t.jobs[::-1], force=True, actor=_EVE),
    ],
    "run_now": [lambda gate, t: gate.run_now(t.jobs, actor=_EVE)],
    "replay": [
        lambda gate, t: gate.replay(t.jobs, actor=_EVE),
        lambda gate, t: gate.replay([t.dead], payload=b"{}", actor=_EVE),
    ],
    "replay_matching": [
        lambda gate, t: gate.replay_matching(JobFilter(), limit=9, dry_run=False, actor=_EVE),
        lambda gate, t: gate.replay_matching(
            JobFilter(tenant=ACME), limit=9, dry_run=False, actor=_EVE
        ),
    ],
    "purge": [lambda gate, t: gate.purge(t.jobs, actor=_EVE)],
    "list_queues": [lambda gate, t: gate.list_queues()],
    "pause_queue": [lambda gate, t: gate.pause_queue(SHARED, reason="", actor=_EVE)],
    "resume_queue": [lambda gate, t: gate.resume_queue(SHARED, actor=_EVE)],
    "list_workers": [lambda gate, t: gate.list_workers()],
    "drain_worker": [lambda gate, t: gate.drain_worker(t.worker, actor=_EVE)],
    "list_handlers": [lambda gate, t: gate.list_handlers()],
    "count_states": [lambda gate, t: gate.count_states()],
    "now": [lambda gate, t: gate.now()],
    "close": [lambda gate, t: gate.close()],
}

#: ``gate`` is the schedules' part here.
SCHEDULES: Final[Mapping[str, Sequence[Ask]]] = {
    "create": [lambda gate, t: gate.create(draft(tenant=ACME), actor=_EVE)],
    "edit": [
        lambda gate, t: gate.edit(t.shown, draft(), actor=_EVE),
        lambda gate, t: gate.edit(t.schedule_name, draft(), actor=_EVE),
        lambda gate, t: gate.edit(t.schedule_name, draft(tenant=ACME), actor=_EVE),
    ],
    "apply": [
        lambda gate, t: gate.apply(
            Application(schedules=(draft(t.schedule_name, ACME),)), actor=_EVE
        ),
        lambda gate, t: gate.apply(
            Application(
                calendars=(CalendarDraft(name=t.calendar, entries=("12-31",), tenant=ACME),)
            ),
            actor=_EVE,
        ),
        lambda gate, t: gate.apply(Application(owner=SECRET, prune=True), actor=_EVE),
    ],
    "get": [
        lambda gate, t: gate.get(t.shown),
        lambda gate, t: gate.get(t.schedule_name),
        lambda gate, t: gate.get(t.schedule_name, tenant=ACME),
        lambda gate, t: gate.get("acme-nightli"),
    ],
    "list": [
        lambda gate, t: gate.list(ScheduleFilter()),
        lambda gate, t: gate.list(ScheduleFilter(tenant=ACME, with_deleted=True)),
        lambda gate, t: gate.list(ScheduleFilter(owner=SECRET)),
    ],
    "versions": [
        lambda gate, t: gate.versions(t.shown),
        lambda gate, t: gate.versions(t.schedule_name, tenant=ACME),
    ],
    "pause": [
        lambda gate, t: gate.pause(t.shown, actor=_EVE),
        lambda gate, t: gate.pause(t.schedule_name, tenant=ACME, actor=_EVE),
    ],
    "resume": [
        lambda gate, t: gate.resume(t.shown, actor=_EVE),
        lambda gate, t: gate.resume(t.schedule_name, tenant=ACME, actor=_EVE),
    ],
    "fire_now": [
        lambda gate, t: gate.fire_now(t.shown, despite_overlap=True, actor=_EVE),
        lambda gate, t: gate.fire_now(t.schedule_name, tenant=ACME, actor=_EVE),
    ],
    "skip_next": [
        lambda gate, t: gate.skip_next(t.shown, 2, actor=_EVE),
        lambda gate, t: gate.skip_next(t.schedule_name, tenant=ACME, actor=_EVE),
    ],
    "remove": [
        lambda gate, t: gate.remove(t.shown, cancel_live=True, actor=_EVE),
        lambda gate, t: gate.remove(t.schedule_name, tenant=ACME, actor=_EVE),
    ],
    "backfill": [
        lambda gate, t: gate.backfill(t.shown, _AGES, actor=_EVE),
        lambda gate, t: gate.backfill(t.shown, _AGES, dry_run=True, actor=_EVE),
        lambda gate, t: gate.backfill(t.schedule_name, _AGES, tenant=ACME, actor=_EVE),
    ],
    "backfills": [
        lambda gate, t: gate.backfills(t.shown),
        lambda gate, t: gate.backfills(t.schedule_name, tenant=ACME),
    ],
    "cancel_backfill": [lambda gate, t: gate.cancel_backfill(t.backfill, actor=_EVE)],
    "preview": [
        lambda gate, t: gate.preview(draft(tenant=ACME)),
        lambda gate, t: gate.preview(draft(calendars=(t.calendar,))),
    ],
    "next": [
        lambda gate, t: gate.next(t.shown),
        lambda gate, t: gate.next(t.schedule_name, tenant=ACME),
    ],
    "history": [
        lambda gate, t: gate.history(t.shown),
        lambda gate, t: gate.history(t.schedule_name, tenant=ACME),
    ],
    "audit": [
        lambda gate, t: gate.audit(t.shown),
        lambda gate, t: gate.audit(t.schedule_name, tenant=ACME),
    ],
    "calendars": [
        lambda gate, t: gate.calendars(),
        lambda gate, t: gate.calendars(tenant=ACME),
    ],
    "calendar": [
        lambda gate, t: gate.calendar(t.calendar),
        lambda gate, t: gate.calendar(t.calendar, tenant=ACME),
    ],
    "put_calendar": [
        lambda gate, t: gate.put_calendar(
            CalendarDraft(name=t.calendar, entries=("12-31",), tenant=ACME), actor=_EVE
        ),
    ],
    "remove_calendar": [
        lambda gate, t: gate.remove_calendar(t.calendar, actor=_EVE),
        lambda gate, t: gate.remove_calendar(t.calendar, tenant=ACME, actor=_EVE),
    ],
}


_ABOUT_ACME: Final = OperationAsk(action="cancel", query="state:scheduled", tenant=ACME)

#: ``gate`` is the operations' part here.
OPERATIONS: Final[Mapping[str, Sequence[Ask]]] = {
    "preview": [lambda gate, t: gate.preview(_ABOUT_ACME, actor=_EVE)],
    "start": [lambda gate, t: gate.start(_ABOUT_ACME, operation_id=t.operation, actor=_EVE)],
    "confirm": [lambda gate, t: gate.confirm(t.operation, actor=_EVE)],
    "get": [
        lambda gate, t: gate.get(t.operation),
        lambda gate, t: gate.get(t.operation, tenant=ACME),
    ],
    "list": [lambda gate, t: gate.list(), lambda gate, t: gate.list(tenant=ACME)],
    "pause": [lambda gate, t: gate.pause(t.operation, actor=_EVE)],
    "resume": [lambda gate, t: gate.resume(t.operation, actor=_EVE)],
    "abort": [lambda gate, t: gate.abort(t.operation, actor=_EVE)],
    "members": [
        lambda gate, t: gate.members(t.operation),
        lambda gate, t: gate.members(t.operation, tenant=ACME),
    ],
    "wait_for_change": [lambda gate, t: gate.wait_for_change(t.operation, None, 0.0)],
}


#: ``gate`` is the part of keys, tenants and the audit here.
ACCESS: Final[Mapping[str, Sequence[Ask]]] = {
    # For whom it speaks is said by the door that let them in.
    "of": [],
    "create_key": [
        lambda gate, t: gate.create_key(
            KeyDraft(name="eves", scopes=("read",), tenant=ACME), actor=_EVE
        ),
    ],
    "get_key": [lambda gate, t: gate.get_key(t.key)],
    "list_keys": [lambda gate, t: gate.list_keys(), lambda gate, t: gate.list_keys(tenant=ACME)],
    "rotate_key": [lambda gate, t: gate.rotate_key(t.key, actor=_EVE)],
    "end_key": [lambda gate, t: gate.end_key(t.key, actor=_EVE)],
    "put_tenant": [lambda gate, t: gate.put_tenant(ACME, note="eves", actor=_EVE)],
    "get_tenant": [lambda gate, t: gate.get_tenant(ACME)],
    "list_tenants": [lambda gate, t: gate.list_tenants()],
    "suspend_tenant": [lambda gate, t: gate.suspend_tenant(ACME, reason="", actor=_EVE)],
    "resume_tenant": [lambda gate, t: gate.resume_tenant(ACME, actor=_EVE)],
    "list_audit": [
        lambda gate, t: gate.list_audit(AuditFilter()),
        lambda gate, t: gate.list_audit(AuditFilter(tenant=ACME)),
    ],
}


#: ``gate`` is the part of webhooks here.
WEBHOOKS: Final[Mapping[str, Sequence[Ask]]] = {
    "create": [
        lambda gate, t: gate.create(
            WebhookDraft(url="https://eve.test/", events=("job.dead",), tenant=ACME), actor=_EVE
        ),
    ],
    "get": [
        lambda gate, t: gate.get(t.endpoint),
        lambda gate, t: gate.get(t.endpoint, tenant=ACME),
    ],
    "list": [lambda gate, t: gate.list(), lambda gate, t: gate.list(ACME)],
    "edit": [
        lambda gate, t: gate.edit(t.endpoint, WebhookEdit(description="eves"), actor=_EVE),
    ],
    "rotate": [lambda gate, t: gate.rotate(t.endpoint, actor=_EVE)],
    "disable": [lambda gate, t: gate.disable(t.endpoint, actor=_EVE)],
    "enable": [lambda gate, t: gate.enable(t.endpoint, actor=_EVE)],
    "delete": [lambda gate, t: gate.delete(t.endpoint, actor=_EVE)],
    "deliveries": [lambda gate, t: gate.deliveries(t.endpoint)],
    "redeliver": [lambda gate, t: gate.redeliver(t.dead, actor=_EVE)],
    "send_test": [lambda gate, t: gate.send_test(t.endpoint, actor=_EVE)],
}


async def _claim(gate: WorkerGateway, things: Things) -> object:
    return await gate.claim(claim_ask(things.worker, lanes=(Lane(SHARED, 9),)))


async def _wait(gate: WorkerGateway, things: Things) -> object:
    # A claim tells which kinds are waited for.
    await gate.claim(claim_ask(things.worker, lanes=(Lane("empty", 9),)))
    return await gate.wait_for_work(things.worker, [SHARED], 0.0)


async def _pulse(gate: WorkerGateway, things: Things) -> object:
    told = [Progress(things.running, 1, 7.0, note="eve was here")]
    return await gate.pulse(things.worker, [(things.running, 1)], told)


WORKER: Final[Mapping[str, Sequence[Ask]]] = {
    # Under an id that nobody has, a session begins: test_workers.py has the other case.
    "open_session": [],
    "beat": [lambda gate, t: gate.beat(t.worker)],
    "drain_session": [lambda gate, t: gate.drain_session(t.worker)],
    "close_session": [lambda gate, t: gate.close_session(t.worker)],
    "child_died": [lambda gate, t: gate.child_died(t.worker, 0, "killed")],
    "claim": [_claim],
    "payload": [lambda gate, t: gate.payload(t.claimed)],
    "save_file": [lambda gate, t: gate.save_file(t.running, 1, "eve.txt", b"eve was here")],
    "report": [lambda gate, t: gate.report([Report(t.running, 1, Succeeded())])],
    "pulse": [_pulse],
    "append_logs": [lambda gate, t: gate.append_logs([log_line(t.claimed, 9, message="eve")])],
    "wait_for_work": [_wait],
    "close": [lambda gate, t: gate.close()],
}


async def take_session(gate: WorkerGateway, things: Things) -> object:
    """Open a session under the id of acme's."""
    session = new_session(id=things.worker, name="eve", lease_ms=1)
    return await gate.open_session(session, [HandlerInfo(kind="eves.work", tenant=ACME)])
