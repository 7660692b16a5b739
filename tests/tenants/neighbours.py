"""Two tenants in one store: what acme has, and what of it anybody could name."""

from __future__ import annotations

from datetime import timedelta
from typing import Any, Final

import msgspec

from mainspring.domain.errors import MainspringError
from mainspring.domain.ids import SCHEDULE, WEBHOOK, show, show_attempt
from mainspring.domain.job import Claimed, HandlerInfo, JobView
from mainspring.domain.references import file_key, reference_of
from mainspring.domain.webhooks import Event, NewWebhook, Secret, Wanted
from mainspring.ports.access import KeyDraft
from mainspring.ports.blobs import BlobStore
from mainspring.ports.entropy import new_job_id, new_worker_id
from mainspring.ports.gateway import Submission
from mainspring.ports.operations import OperationAsk
from mainspring.ports.schedules import ScheduleFilter
from mainspring.ports.scheduling import CalendarDraft, ScheduleDraft
from mainspring.ports.store import Lane, Store
from mainspring.registry.desk import FrontDesk
from mainspring.testing.builders import KIND, claim_ask, log_line, new_job, new_session, progress
from mainspring.testing.clock import BEGINNING
from mainspring.testing.conformance.schedules_backfills import new_backfill
from mainspring.testing.conformance.schedules_steps import creating, new_schedule, seconds
from mainspring.testing.conformance.steps import FAILED, FAILED_FOR_GOOD, accept

ACME: Final = "acme"
BITS: Final = "bits"
#: In whatever acme has, and in no question: an answer that holds it has leaked.
SECRET: Final = "s3cr3t"
SHARED: Final = "shared"
_BODY: Final = b'{"word":"s3cr3t"}'
_FILE: Final = b"s3cr3t, in a file"


class Things(msgspec.Struct, frozen=True, kw_only=True):
    """Names of what acme has; known before acme has it, so that one can ask for it then."""

    waiting: bytes
    running: bytes
    dead: bytes
    worker: bytes
    schedule: bytes
    backfill: bytes
    operation: bytes
    webhook: bytes
    file: str
    blob: str
    schedule_name: str = "acme-nightly"
    calendar: str = "acme-days"
    key: str = "acme-key"

    @property
    def shown(self) -> str:
        """Return the schedule's id as clients say it."""
        return show(SCHEDULE, self.schedule)

    @property
    def endpoint(self) -> str:
        """Return the webhook's id as clients say it."""
        return show(WEBHOOK, self.webhook)

    @property
    def jobs(self) -> list[bytes]:
        """Return the ids of the jobs."""
        return [self.waiting, self.running, self.dead]

    @property
    def claimed(self) -> Claimed:
        """Return the running attempt, as somebody could make it up."""
        return Claimed(
            job_id=self.running, attempt=1, kind=KIND, queue=SHARED, tenant=ACME, priority=2,
            payload=b"{}", payload_ref=self.blob, tries=1, crashes=1, max_attempts=5,
            max_crashes=3, backoff=None, timeout_ms=1_000, due_at=BEGINNING, started_at=BEGINNING,
            deadline_at=BEGINNING, effect_key=None, on_exhausted=None, created_at=BEGINNING,
        )  # fmt: skip


def names() -> Things:
    running = new_job_id()
    day = BEGINNING.date().isoformat()
    key = file_key(ACME, day, show_attempt(running, 1), "note.txt", _FILE)
    return Things(
        waiting=new_job_id(),
        running=running,
        dead=new_job_id(),
        worker=new_worker_id(),
        schedule=new_job_id(),
        backfill=new_job_id(),
        operation=new_job_id(),
        webhook=new_job_id(),
        file=reference_of(key, _FILE),
        blob=reference_of(f"payload/{ACME}/{day}/large", _BODY),
    )


def draft(name: str = "hourly", tenant: str | None = None, **given: Any) -> ScheduleDraft:
    work = Submission(kind="bits.work", kind_is_known=True, tenant=tenant)
    return ScheduleDraft(name=name, when=("0 * * * *",), work=work, **given)


async def settle_bits(desk: FrontDesk, store: Store) -> None:
    """Give bits something of everything, so that lists have something to show."""
    await store.submit([new_job(kind="bits.work", queue=SHARED, tenant=BITS, delay_ms=60_000)])
    await store.open_session(new_session(tenant=BITS, name="bits-worker"))
    await store.declare_handlers([HandlerInfo(kind="bits.work", tenant=BITS)])
    await store.declare_handlers([HandlerInfo(kind="everybodys.work")])
    await desk.schedules.create(draft(tenant=BITS), actor="bob")
    calendar = CalendarDraft(name="days", entries=("12-25",), tenant=BITS)
    await desk.schedules.put_calendar(calendar, actor="bob")


async def settle_acme(desk: FrontDesk, store: Store, blobs: BlobStore, things: Things) -> None:
    """Give acme everything that was named."""
    given: dict[str, Any] = {
        "queue": SHARED,
        "tenant": ACME,
        "payload": _BODY,
        "effect_key": SECRET,
    }
    session = new_session(id=things.worker, tenant=ACME, name=SECRET, queues={SECRET: 1})
    await store.open_session(session)
    ask = claim_ask(things.worker, lanes=(Lane(SHARED, 1),), tenant=ACME)
    await store.submit([new_job(id=things.dead, **given)])
    (first,) = await store.claim(ask)
    await accept(store, first, FAILED, delay_ms=0, reason=SECRET)
    (second,) = await store.claim(ask)
    await store.append_logs([log_line(second, message=SECRET)])
    await accept(store, second, FAILED_FOR_GOOD, reason=SECRET)
    await store.submit([new_job(id=things.running, **given)])
    (running,) = await store.claim(ask)
    await store.append_logs([log_line(running, message=SECRET)])
    await store.pulse(things.worker, [], [progress(running, 1.0, note=SECRET)])
    await store.submit([new_job(id=things.waiting, delay_ms=60_000, **given)])
    await store.declare_handlers([HandlerInfo(kind=f"{SECRET}.work", tenant=ACME)])
    reference = things.file.partition("#")[0]
    assert await blobs.put(reference, _FILE) == things.file
    assert await blobs.put(things.blob.partition("#")[0], _BODY) == things.blob
    new = new_schedule(id=things.schedule, name=things.schedule_name, tenant=ACME, owner=SECRET)
    await store.create_schedule(new, creating, actor=SECRET)
    backfill = new_backfill(
        things.schedule, seconds(BEGINNING - timedelta(hours=9)), id=things.backfill
    )
    await store.create_backfill(backfill, actor=SECRET)
    calendar = CalendarDraft(name=things.calendar, entries=("12-24",), tenant=ACME)
    await desk.schedules.put_calendar(calendar, actor=SECRET)
    endpoint = Wanted(url="https://acme.test/", events=(Event.JOB_DEAD,), description=SECRET)
    secrets = (Secret("whsec_" + "A" * 43 + "="),)
    webhook = NewWebhook(id=things.webhook, tenant=ACME, wanted=endpoint, secrets=secrets)
    assert await store.create_webhook(webhook, most=9, actor=SECRET)
    await desk.access.put_tenant(ACME, note=SECRET, actor=SECRET)
    key = KeyDraft(name=things.key, tenant=ACME, scopes=("read",))
    await desk.access.create_key(key, actor=SECRET)
    wanted = OperationAsk(action="cancel", query="state:scheduled", tenant=ACME)
    await desk.operations.start(wanted, operation_id=things.operation, actor=SECRET)


async def everything_of(desk: FrontDesk, things: Things) -> str:
    """Return all that acme has, to see that nothing of it was changed."""
    shown = things.shown
    schedules = desk.schedules
    found: list[object] = []
    for job_id in things.jobs:
        job: JobView = await desk.get_job(job_id)
        found += [job, await desk.list_attempts(job_id), await desk.list_logs(job_id)]
    found += [
        await schedules.get(shown),
        await schedules.versions(shown),
        await schedules.history(shown),
        await schedules.backfills(shown),
        await schedules.list(ScheduleFilter(tenant=ACME)),
        await schedules.calendars(tenant=ACME),
        await desk.operations.get(things.operation),
        await desk.operations.members(things.operation),
        await desk.access.get_tenant(ACME),
        await desk.webhooks.get(things.endpoint),
        await desk.access.get_key(things.key),
        [worker for worker in await desk.list_workers() if worker.tenant == ACME],
        [handler for handler in await desk.list_handlers() if handler.tenant == ACME],
        [queue.name for queue in await desk.list_queues() if queue.paused_at is not None],
        await desk.read_file(things.file),
    ]
    return repr(found)


async def outcome(asked: Any) -> str:
    """Return what came of a question, word for word: an answer or a refusal."""
    try:
        return repr(await asked)
    except MainspringError as error:
        return repr((type(error), error.message, error.hint, error.details))
