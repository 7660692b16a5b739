"""The doctor's checks: what is looked at, and what it means. Judging is pure."""

import shutil
from collections.abc import Callable, Iterator, Sequence
from datetime import datetime, timedelta
from importlib.metadata import PackageNotFoundError
from importlib.metadata import version as version_of
from pathlib import Path
from typing import Final, Protocol

import msgspec

from mainspring import __version__
from mainspring.cli.options import without_password
from mainspring.cli.schedule_checkup import SCHEDULE_CHECKS, ScheduleFacts, ask_schedules
from mainspring.cli.text import count_of, rough, span
from mainspring.domain.errors import MainspringError
from mainspring.domain.job import JobFilter, Page, QueueView, WorkerView
from mainspring.domain.limits import PAGE_ITEMS_MAX
from mainspring.domain.states import CLAIMABLE
from mainspring.ports.clock import monotonic, utc_now
from mainspring.ports.entropy import new_job_id
from mainspring.ports.store import Diagnosis, SchemaStatus
from mainspring.runtime.assemble import open_blobs, open_store, refuse_missing_file
from mainspring.runtime.setting_table import Settings
from mainspring.runtime.settings import blob_address, sqlite_path

_MIB: Final = 1_048_576
LATENCY_MS_MAX: Final = 50.0
_SKEW_SECONDS_MAX: Final = 1.0
_DISK_BYTES_MIN: Final = 1_024 * _MIB
_WAL_BYTES_MAX: Final = 256 * _MIB
_SNAPSHOT_SECONDS_MAX: Final = 300.0
_CONNECTIONS_SHARE_MAX: Final = 0.9
_FILES_MIN: Final = 1_024
_LEASE_LATE: Final = timedelta(seconds=5)
_ZONES_AGE_YEARS_MAX: Final = 1
_LOOK_PAGES: Final = 4
_ASKS: Final = 3


class HasClock(Protocol):
    """A store, or a gateway."""

    async def now(self) -> datetime:
        """Return the clock that judges what is due."""
        ...


class HasJobs(Protocol):
    """A store, or a gateway."""

    async def list_jobs(self, wanted: JobFilter, *, limit: int, before: bytes | None) -> Page:
        """Return a page of jobs."""
        ...


class Finding(msgspec.Struct, frozen=True):
    """What one check found: ``ok``, ``warn``, ``fail``, or ``skip`` where it does not apply."""

    check: str
    status: str
    what: str
    next: str = ""


class StoreFacts(msgspec.Struct, frozen=True, kw_only=True):
    """What a store that can be reached told."""

    schema: SchemaStatus
    diagnosis: Diagnosis
    latency_ms: float
    skew: timedelta
    now: datetime
    queues: Sequence[QueueView] = ()
    workers: Sequence[WorkerView] = ()
    waiting_kinds: frozenset[str] = frozenset()
    #: ``None``: they cannot be asked, because steps of the migration are pending.
    schedules: ScheduleFacts | None = None


class Facts(msgspec.Struct, frozen=True, kw_only=True):
    """Everything that the checks look at."""

    address: str
    today: datetime
    store: StoreFacts | None = None
    store_error: MainspringError | None = None
    blobs: str | None = None
    blobs_error: str = ""
    disk_free_bytes: int | None = None
    files_max: int | None = None
    zones_version: str | None = None
    zones_error: str = ""


async def gather(settings: Settings) -> Facts:
    """Look at everything; what cannot be looked at is a fact, too."""
    store: StoreFacts | None = None
    error: MainspringError | None = None
    try:
        store = await _ask_store(settings)
    except MainspringError as caught:
        error = caught
    version, zones_error = _zones()
    return Facts(
        address=without_password(settings.store_url),
        today=utc_now(),
        store=store,
        store_error=error,
        blobs=blob_address(settings),
        blobs_error=await _try_blobs(settings),
        disk_free_bytes=_disk_free(settings),
        files_max=_files_max(),
        zones_version=version,
        zones_error=zones_error,
    )


async def _ask_store(settings: Settings) -> StoreFacts:
    refuse_missing_file(settings)
    store = await open_store(settings)
    try:
        schema = await store.schema_status()
        diagnosis = await store.diagnose()
        latency_ms, skew, now = await ask_clock(store)
        if schema.pending or schema.too_new:
            return StoreFacts(
                schema=schema, diagnosis=diagnosis, latency_ms=latency_ms, skew=skew, now=now
            )
        return StoreFacts(
            schema=schema,
            diagnosis=diagnosis,
            latency_ms=latency_ms,
            skew=skew,
            now=now,
            queues=await store.list_queues(),
            workers=await store.list_workers(),
            waiting_kinds=await ask_waiting_kinds(store),
            schedules=await ask_schedules(store, now),
        )
    finally:
        await store.close()


async def ask_clock(store: HasClock) -> tuple[float, timedelta, datetime]:
    """Return the shortest answer in milliseconds, and by how much the clocks differ then."""
    best: tuple[float, timedelta, datetime] | None = None
    for _ in range(_ASKS):
        before, started = utc_now(), monotonic()
        now = await store.now()
        took_ms = (monotonic() - started) * 1_000
        middle = before + timedelta(milliseconds=took_ms / 2)
        if best is None or took_ms < best[0]:
            best = (took_ms, now - middle, now)
    assert best is not None
    return best


async def ask_waiting_kinds(store: HasJobs) -> frozenset[str]:
    """Return the kinds of jobs that wait, of the newest few thousand."""
    kinds: set[str] = set()
    before: bytes | None = None
    for _ in range(_LOOK_PAGES):
        wanted = JobFilter(states=frozenset(CLAIMABLE))
        page = await store.list_jobs(wanted, limit=PAGE_ITEMS_MAX, before=before)
        kinds |= {job.kind for job in page.items}
        before = page.next_before
        if before is None:
            break
    return frozenset(kinds)


async def _try_blobs(settings: Settings) -> str:
    """Write, read and delete a small object; return what went wrong, or nothing."""
    try:
        blobs = open_blobs(settings)
    except MainspringError as error:
        return error.message
    if blobs is None:
        return ""
    body = b'"doctor"'
    try:
        reference = await blobs.put(f"doctor/{new_job_id().hex()}", body)
        found = await blobs.get(reference)
        await blobs.delete([reference])
    except MainspringError as error:
        return error.message
    finally:
        await blobs.close()
    return "" if found == body else "what was read is not what was written"


def _disk_free(settings: Settings) -> int | None:
    path = sqlite_path(settings.store_url)
    if path is None or path == ":memory:":
        return None
    folder = Path(path).absolute().parent
    while not folder.exists():
        folder = folder.parent
    return shutil.disk_usage(folder).free


def _files_max() -> int | None:
    try:
        import resource
    except ImportError:
        return None
    soft, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    return None if soft == resource.RLIM_INFINITY else soft


def _zones() -> tuple[str | None, str]:
    import zoneinfo

    try:
        zoneinfo.ZoneInfo("Europe/Berlin")
        return version_of("tzdata"), ""
    except (zoneinfo.ZoneInfoNotFoundError, PackageNotFoundError, OSError) as error:
        return None, str(error)


# --- Judging --------------------------------------------------------------------------------------


def judge(facts: Facts) -> list[Finding]:
    """Return what every check makes of the facts, in a fixed order."""
    return [*_of_store(facts), *_of_machine(facts)]


def judge_served(store: StoreFacts) -> Iterator[Finding]:
    """Return what the checks make of a store that a server tells of; the rest is the server's."""
    for name, check in _STORE_CHECKS.items():
        if name in _SERVED:
            yield _named(name, check(store))
        else:
            yield Finding(name, "skip", _ELSEWHERE)
    for name in SCHEDULE_CHECKS:
        yield Finding(name, "skip", _ELSEWHERE)


def _of_store(facts: Facts) -> Iterator[Finding]:
    store = facts.store
    if store is None:
        error = facts.store_error
        what = error.message if error else "no answer"
        yield Finding("store", "fail", f"{what}  ({facts.address})", error.hint if error else "")
        for name in (*_STORE_CHECKS, *SCHEDULE_CHECKS):
            yield Finding(name, "skip", "the store cannot be asked")
        return
    yield _reached(store, facts.address)
    for name, check in _STORE_CHECKS.items():
        yield _named(name, check(store))
    schedules = store.schedules
    for name, judge_it in SCHEDULE_CHECKS.items():
        if schedules is None:
            yield Finding(name, "skip", "schedules cannot be asked")
        else:
            yield _named(name, judge_it(schedules))


def _named(name: str, found: tuple[str, str, str]) -> Finding:
    status, what, hint = found
    return Finding(name, status, what, hint)


def _reached(store: StoreFacts, address: str) -> Finding:
    answered = f"{store.diagnosis.product} at {address} answers in {span(store.latency_ms)}"
    if store.latency_ms > LATENCY_MS_MAX:
        hint = "move closer to it: every claim and finish waits for it"
        return Finding("store", "warn", answered, hint)
    return Finding("store", "ok", answered)


Judged = tuple[str, str, str]


def _migrations(store: StoreFacts) -> Judged:
    schema = store.schema
    if schema.too_new:
        newest = schema.unknown[-1] if schema.unknown else "?"
        return "fail", f"a newer version has migrated it ({newest})", "install that version here"
    if schema.pending:
        what = f"{count_of(len(schema.pending), 'step')} pending"
        return "fail", what, "mainspring db migrate"
    return "ok", f"{count_of(len(schema.applied), 'step')} applied", ""


def _clock(store: StoreFacts) -> Judged:
    seconds = abs(store.skew) / timedelta(seconds=1)
    side = "ahead of" if store.skew > timedelta(0) else "behind"
    if seconds <= _SKEW_SECONDS_MAX:
        return "ok", "this machine and the store agree on the time", ""
    what = f"the store's clock is {span(seconds * 1_000)} {side} this machine's"
    return "warn", what, "set both by NTP; the store's clock decides what is due"


def _queues(store: StoreFacts) -> Judged:
    served = {name for worker in _up(store) for name in worker.queues}
    for queue in store.queues:
        waiting = queue.ready + queue.retrying + queue.scheduled
        if waiting and queue.name not in served:
            what = f"{queue.name}: {count_of(waiting, 'job')} wait, and no worker serves it"
            return "warn", what, f"mainspring worker start MODULE:APP --queues {queue.name}"
    for queue in store.queues:
        if queue.paused_at is not None:
            since = rough(store.now - queue.paused_at)
            reason = f" ({queue.paused_reason})" if queue.paused_reason else ""
            what = f"{queue.name} has been paused for {since}{reason}"
            return "warn", what, f"mainspring queues resume {queue.name}"
    if not store.queues:
        return "ok", "no queue has jobs", ""
    return "ok", f"{count_of(len(store.queues), 'queue')} with jobs, each is served", ""


def _handlers(store: StoreFacts) -> Judged:
    known = {kind for worker in _up(store) for kind in worker.kinds}
    missing = sorted(store.waiting_kinds - known)
    if missing:
        more = f" and {len(missing) - 1} more" if len(missing) > 1 else ""
        what = f"jobs of the kind {missing[0]}{more} wait, and no worker has it"
        return "warn", what, "start a worker whose app declares it"
    return "ok", "every kind that waits has a worker", ""


def _leases(store: StoreFacts) -> Judged:
    late = [
        worker
        for worker in store.workers
        if worker.state in ("alive", "draining") and worker.lease_until < store.now - _LEASE_LATE
    ]
    if not late:
        up = len(_up(store))
        return (
            "ok",
            f"{count_of(up, 'worker')} up, every lease holds" if up else "no worker is up",
            "",
        )
    what = (
        f"the lease of {late[0].name} ran out {rough(store.now - late[0].lease_until)} ago, "
        f"and nobody has taken its {count_of(late[0].running, 'job')} back"
    )
    return "warn", what, "any worker with maintenance does: mainspring worker start MODULE:APP"


def _versions(store: StoreFacts) -> Judged:
    others = sorted({worker.version for worker in _up(store)} - {__version__})
    if others:
        what = f"workers run {', '.join(others)}, and this is {__version__}"
        return "warn", what, "finish the roll-out, or use the same version here"
    return "ok", f"everything is {__version__}", ""


def _wal(store: StoreFacts) -> Judged:
    size = store.diagnosis.wal_bytes
    if size is None:
        return "skip", "SQLite files only", ""
    shown = f"{size / _MIB:,.0f} MiB of write-ahead log"
    if size > _WAL_BYTES_MAX:
        return "warn", shown, "a reader holds it open: end programs that look at the file"
    return "ok", shown, ""


def _snapshots(store: StoreFacts) -> Judged:
    if store.diagnosis.connections is None:
        return "skip", "PostgreSQL only", ""
    seconds = store.diagnosis.oldest_snapshot_seconds
    if seconds is not None and seconds > _SNAPSHOT_SECONDS_MAX:
        what = f"{store.diagnosis.oldest_snapshot_by} has held a snapshot for "
        hint = "end it: dead rows pile up behind it, and claims slow down"
        return "warn", what + span(seconds * 1_000), hint
    return "ok", "nobody holds an old snapshot", ""


def _connections(store: StoreFacts) -> Judged:
    used, most = store.diagnosis.connections, store.diagnosis.connections_max
    if used is None or most is None:
        return "skip", "PostgreSQL only", ""
    shown = f"{used} of {most} connections in use"
    if used > most * _CONNECTIONS_SHARE_MAX:
        return "warn", shown, "raise max_connections, or run fewer processes"
    return "ok", shown, ""


def _up(store: StoreFacts) -> list[WorkerView]:
    return [
        worker
        for worker in store.workers
        if worker.state in ("alive", "draining") and worker.lease_until > store.now
    ]


def _tenants(store: StoreFacts) -> Judged:
    if store.diagnosis.is_walled is None:
        return "skip", "PostgreSQL only", ""
    if store.diagnosis.is_walled:
        return "ok", "the server keeps tenants apart, too", ""
    what = "the role mainspring_tenant cannot be used: nothing but Mainspring keeps tenants apart"
    make = "CREATE ROLE mainspring_tenant NOLOGIN; GRANT mainspring_tenant TO the store's user"
    return "warn", what, f"as an administrator: {make}; then: mainspring db migrate"


_STORE_CHECKS: Final[dict[str, Callable[[StoreFacts], Judged]]] = {
    "migrations": _migrations,
    "clock": _clock,
    "queues": _queues,
    "handlers": _handlers,
    "leases": _leases,
    "versions": _versions,
    "wal": _wal,
    "snapshots": _snapshots,
    "connections": _connections,
    "tenants": _tenants,
}


#: What a server can be asked about.
_SERVED: Final = frozenset({"clock", "queues", "handlers", "leases", "versions"})
_ELSEWHERE: Final = "asked where the store itself is"


def _of_machine(facts: Facts) -> Iterator[Finding]:
    yield _named("objects", _objects(facts))
    yield _named("disk", _disk(facts))
    yield _named("files", _files(facts))
    yield _named("zones", _zone_data(facts))


def _objects(facts: Facts) -> Judged:
    if facts.blobs is None:
        return "skip", "no object store: large payloads stay in the store", ""
    address = without_password(facts.blobs)
    if facts.blobs_error:
        hint = "check the address and the rights; mainspring config explain blobs"
        return "fail", f"{address}: {facts.blobs_error}", hint
    return "ok", f"{address} keeps, returns and deletes", ""


def _disk(facts: Facts) -> Judged:
    free = facts.disk_free_bytes
    if free is None:
        return "skip", "SQLite files only", ""
    shown = f"{free / _MIB / 1_024:,.1f} GiB free"
    if free < _DISK_BYTES_MIN:
        return "warn", shown, "make room: a full disk stops every submission"
    return "ok", shown, ""


def _files(facts: Facts) -> Judged:
    if facts.files_max is None:
        return "ok", "no limit of open files", ""
    shown = f"{facts.files_max:,} files may be open"
    if facts.files_max < _FILES_MIN:
        return "warn", shown, f"ulimit -n {_FILES_MIN * 4}"
    return "ok", shown, ""


def _zone_data(facts: Facts) -> Judged:
    if facts.zones_error or facts.zones_version is None:
        return "fail", f"there is no time-zone data: {facts.zones_error}", "pip install tzdata"
    year = int(facts.zones_version.partition(".")[0])
    shown = f"time-zone data {facts.zones_version}"
    if facts.today.year - year > _ZONES_AGE_YEARS_MAX:
        return "warn", f"{shown} is old", "pip install --upgrade tzdata"
    return "ok", shown, ""
