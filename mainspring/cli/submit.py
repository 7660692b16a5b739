"""``mainspring submit``: one job, from the command line."""

from collections.abc import Sequence
from typing import Annotated, Final, Literal

from cyclopts import Group, Parameter
from msgspec import Struct
from msgspec.structs import asdict, replace

from mainspring.app.backoff import exponential
from mainspring.app.durations import milliseconds
from mainspring.cli.asking import known_queues, nearest, open_gateway
from mainspring.cli.options import FLAG, VALUE, Given, Options
from mainspring.cli.output import out, show_one, tell, tell_dry_run
from mainspring.cli.payloads import payload_of
from mainspring.cli.picking import check_columns
from mainspring.cli.records import job_record
from mainspring.cli.text import printable
from mainspring.cli.watching import ended_badly, watch
from mainspring.domain.errors import InvalidInput
from mainspring.domain.ids import show_job
from mainspring.domain.job import JobView, Priority
from mainspring.domain.names import suggestion
from mainspring.domain.payload import check
from mainspring.domain.states import JobState
from mainspring.ports.gateway import Accepted, ClientGateway, Submission
from mainspring.wire.documents.common import raw_json

WAIT: Final = Group("Waiting", sort_key=50)

_BACKOFF_DEFAULTS: Final = ("1s", "2", "5m", "0.3")
_BACKOFF_PARTS: Final = len(_BACKOFF_DEFAULTS)
While = Literal["live", "waiting"]
OnDuplicate = Literal["existing", "reject", "replace"]
#: What ``--columns`` may name: of a submission, or of the job that was waited for.
COLUMNS: Final = (
    "id", "created", "replaced", "kind", "state", "tenant", "queue", "priority", "attempt",
    "tries", "max_attempts", "crashes", "max_crashes", "replays", "reason", "blocked_reason",
    "created_at", "due_at", "started_at", "deadline_at", "finished_at", "timeout_ms", "backoff",
    "on_exhausted", "effect_key", "submission_key", "unique_key", "worker_id", "progress",
    "payload", "payload_ref", "result", "result_ref", "error", "group", "delay_ms",
)  # fmt: skip


class Waiting(Struct, frozen=True, kw_only=True):
    """Whether the command stays until the job ends, and how."""

    stays: bool
    follow: bool
    patience_seconds: float | None


async def submit(  # noqa: PLR0913 - a command's options are its arguments
    kind: str,
    /,
    *payload: Annotated[str, Parameter(name="PAYLOAD", allow_leading_hyphen=False)],
    json: Annotated[str | None, VALUE] = None,
    queue: Annotated[str | None, VALUE] = None,
    priority: Annotated[str | None, VALUE] = None,
    delay: Annotated[str | None, VALUE] = None,
    at: Annotated[str | None, VALUE] = None,
    key: Annotated[str | None, VALUE] = None,
    effect_key: Annotated[str | None, VALUE] = None,
    unique: Annotated[str | None, VALUE] = None,
    unique_by: Annotated[tuple[str, ...], Parameter(negative="")] = (),
    unique_while: While = "live",
    on_duplicate: OnDuplicate = "existing",
    tenant: Annotated[str | None, VALUE] = None,
    max_attempts: int | None = None,
    max_crashes: int | None = None,
    backoff: Annotated[str | None, VALUE] = None,
    on_exhausted: Annotated[str | None, VALUE] = None,
    timeout: Annotated[str | None, VALUE] = None,
    wait: Annotated[bool, Parameter(group=WAIT, negative="")] = False,
    follow: Annotated[bool, Parameter(group=WAIT, negative="")] = False,
    wait_timeout: Annotated[str | None, Parameter(group=WAIT, allow_leading_hyphen=True)] = None,
    dry_run: Annotated[bool, FLAG] = False,
    options: Given,
) -> int:
    """Submit a job, and print its id.

    Parameters
    ----------
    kind
        Which handler is to run.
    payload
        Members of the payload: name=text, or name:=JSON for numbers, lists and the like.
    json
        The whole payload as JSON: TEXT, @FILE, or - for stdin.
    queue
        Another queue than the handler's own.
    priority
        critical, high, normal or low.
    delay
        Not before this long from now: 90s, 15m, 2h, 1d.
    at
        Not before this instant, with its zone: 2027-01-31T09:00:00+01:00.
    key
        A submission key: the same key with the same body names the same job for a day.
    effect_key
        What the handler hands on as its idempotency key; the job's id if not given.
    unique
        At most one live job with this text; what a second one does is --on-duplicate.
    unique_by
        At most one live job of this kind with the same values of these members: shop_id,day; or
        with the same payload: '*'.
    unique_while
        While the first is live, or only while it waits (has not begun).
    on_duplicate
        Name the existing job, reject the second, or replace what waits.
    tenant
        On whose behalf.
    max_attempts
        How often it may be tried.
    max_crashes
        How often it may take its process down.
    backoff
        How long it rests before its next try: initial,factor,cap,jitter, for example 2s or
        1s,2,5m,0.3; jitter may be full.
    on_exhausted
        The kind of the job that follows when this one goes dead.
    timeout
        How long one attempt may take.
    wait
        Stay until the job ends and print its result; exit 5 when it ends without success.
    follow
        As --wait, and show its log and progress.
    wait_timeout
        As --wait, but leave with exit 7 after this long; the job goes on.
    dry_run
        Check everything, and say what would be submitted.
    """
    check_columns(options, COLUMNS)
    members = _counted(unique, unique_by)
    body = payload_of(payload, json, bytes_max=options.settings().payload_bytes)
    wanted = Submission(
        kind=kind,
        payload=body,
        unique_key=unique,
        unique_while=unique_while,
        on_duplicate=on_duplicate,
        tenant=tenant,
        queue=queue,
        priority=int(priority) if priority is not None and priority.isdecimal() else priority,
        delay_ms=None if delay is None else milliseconds(delay, name="delay"),
        due_at=at,
        max_attempts=max_attempts,
        max_crashes=max_crashes,
        backoff=None if backoff is None else backoff_of(backoff),
        on_exhausted=on_exhausted,
        timeout_ms=None if timeout is None else milliseconds(timeout, name="timeout"),
        key=key,
        effect_key=effect_key,
    )
    if dry_run:
        await _check(wanted, members, options)
        return 0
    patience = None
    if wait_timeout is not None:
        patience = milliseconds(wait_timeout, name="wait-timeout") / 1_000
    stays = wait or follow or patience is not None
    waiting = Waiting(stays=stays, follow=follow, patience_seconds=patience)
    return await _submit(wanted, members, options, waiting)


def backoff_of(text: str) -> dict[str, int | float]:
    """Read ``initial,factor,cap,jitter``; what is left out at the end has its default."""
    parts = [part.strip() for part in text.split(",")]
    if len(parts) > _BACKOFF_PARTS:
        raise InvalidInput(
            f"backoff: {text!r} has {len(parts)} parts", hint="write initial,factor,cap,jitter"
        )
    initial, factor, cap, jitter = (*parts, *_BACKOFF_DEFAULTS[len(parts) :])
    try:
        share: float | Literal["full"] = "full" if jitter == "full" else float(jitter)
        found = exponential(initial, factor=float(factor), cap=cap, jitter=share)
    except ValueError:
        raise InvalidInput(
            f"backoff: {text!r} cannot be read", hint="for example 2s, or 1s,2,5m,0.3"
        ) from None
    return asdict(found)


def _counted(text: str | None, members: Sequence[str]) -> Sequence[str]:
    """Return the names of the members by which the job is to be unique, if any."""
    if text is not None and members:
        raise InvalidInput("both --unique and --unique-by were given", hint="give one of them")
    names = [name for given in members for name in given.split(",") if name]
    if members and not names:
        raise InvalidInput("unique-by: no member was named", hint="write --unique-by shop_id,day")
    return names


async def _made_unique(
    gateway: ClientGateway, wanted: Submission, members: Sequence[str]
) -> Submission:
    """Return the submission with the key that its members make, defaults included."""
    if not members:
        return wanted
    from mainspring.app.uniqueness import unique_key
    from mainspring.registry.validate import check_schema, members_of, parameters_of

    handlers = {handler.kind: handler for handler in await gateway.list_handlers()}
    declared = handlers.get(wanted.kind)
    if declared is None:
        return wanted  # which will be refused for its kind
    body = check(wanted.payload)
    check_schema(wanted.kind, body, declared.schema)
    known = parameters_of(declared.schema)
    is_whole = list(members) == ["*"]
    for name in members:
        if name not in known and not is_whole:
            raise InvalidInput(
                f"unique-by: {wanted.kind} has no parameter {name!r}", hint=suggestion(name, known)
            )
    given = members_of(declared, body)
    key = unique_key(is_whole or tuple(members), wanted.kind, given)
    return replace(wanted, unique_key=key)


async def _check(wanted: Submission, members: Sequence[str], options: Options) -> None:
    """Check a submission as the store's side does, and show what would be inserted."""
    from mainspring.ports.entropy import new_job_id
    from mainspring.registry.validate import new_job
    from mainspring.runtime.assemble import is_rest

    settings = options.settings()
    async with open_gateway(options) as gateway:
        handlers = {handler.kind: handler for handler in await gateway.list_handlers()}
        wanted = await _made_unique(gateway, wanted, members)
        job = new_job(wanted, handlers, new_job_id, settings.payload_bytes)
        await warn_of_queue(gateway, wanted)
    record = {
        "kind": job.kind,
        # A server knows whose key it is, and nobody else does.
        "tenant": wanted.tenant if is_rest(settings.store_url) else job.tenant,
        "queue": job.queue,
        "priority": Priority(job.priority).name.lower(),
        "delay_ms": job.delay_ms,
        "due_at": job.due_at,
        "max_attempts": job.max_attempts,
        "max_crashes": job.max_crashes,
        "backoff": None if job.backoff is None else asdict(job.backoff),
        "on_exhausted": job.on_exhausted,
        "timeout_ms": job.timeout_ms,
        "submission_key": job.submission_key,
        "unique_key": job.unique_key,
        "payload": raw_json(job.payload),
    }
    shown = f"{job.kind} would be submitted to the queue {job.queue}: {job.payload.decode()}"
    show_one(options, record, name=job.kind, people=lambda: out(printable(shown)))
    tell_dry_run()


async def warn_of_queue(gateway: ClientGateway, wanted: Submission) -> None:
    """Say so when a queue was named that nothing else names: more often a slip than a plan."""
    if wanted.queue is None:
        return
    # The job itself names it by now.
    known = await known_queues(gateway, with_jobs=False)
    if wanted.queue not in known:
        near = nearest(wanted.queue, known)
        more = f"; did you mean {near}?" if near else ""
        tell(f"warning: no worker or handler names the queue {wanted.queue!r}{more}")


async def _submit(
    wanted: Submission, members: Sequence[str], options: Options, waiting: Waiting
) -> int:
    async with open_gateway(options) as gateway:
        wanted = await _made_unique(gateway, wanted, members)
        accepted = (await gateway.submit([wanted]))[0]
        await warn_of_queue(gateway, wanted)
        if not waiting.stays:
            _show_accepted(options, accepted)
            return 0
        if options.is_for_people:
            out(show_job(accepted.job_id))
        job = await watch(
            gateway,
            accepted.job_id,
            options,
            follow=waiting.follow,
            timeout_seconds=waiting.patience_seconds,
            after_attempt=0 if accepted.created else None,
        )
    show_end(options, job)
    return 0


def _show_accepted(options: Options, accepted: Accepted) -> None:
    name = show_job(accepted.job_id)
    record = {"id": name, "created": accepted.created, "replaced": accepted.replaced}
    show_one(options, record, name=name, people=lambda: out(name))
    if options.is_for_people and not accepted.created:
        tell("it was there already" + (", and waits with this payload now" * accepted.replaced))


def show_end(options: Options, job: JobView) -> None:
    """Print the result of a job that was awaited, or raise ``JobFailed``."""
    if not options.is_for_people:
        show_one(options, job_record(job), name=show_job(job.id), people=lambda: None)
    elif job.result is not None:
        out(job.result.decode())
    elif job.result_is_away:
        tell(f"its result was not read from the object store: {job.result_ref}")
    if job.state is not JobState.SUCCEEDED:
        raise ended_badly(job)
