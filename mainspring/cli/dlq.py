"""``mainspring dlq``: look at dead letters; replay or purge them."""

from collections.abc import Sequence
from datetime import datetime
from typing import Annotated, Final

from cyclopts import App, Parameter

from mainspring.cli.asking import actor, confirm, every, filter_of, job_ids, open_gateway
from mainspring.cli.job_tables import show_job_page
from mainspring.cli.options import COMMANDS, Given, Options
from mainspring.cli.output import line, out, show_list, tell
from mainspring.cli.payloads import members, merged, payload_of
from mainspring.cli.records import attempt_record, error_of, job_record
from mainspring.cli.tables import Column
from mainspring.cli.text import count_of, rough
from mainspring.cli.watching import ended_badly, watch
from mainspring.domain.errors import Conflict, InvalidInput, NotFound
from mainspring.domain.ids import parse_job, show_job
from mainspring.domain.job import JobFilter, JobView
from mainspring.domain.states import JobState
from mainspring.ports.clock import utc_now
from mainspring.ports.gateway import ClientGateway

app: Final = App(
    name="dlq", help="Look at dead letters; replay or purge them.", group_commands=COMMANDS
)
_BULK_MAX: Final = 10_000

Kinds = Annotated[tuple[str, ...], Parameter(negative="")]
Flag = Parameter(negative="")
#: Jobs that came back, each with the attempt it had died with, where that is known.
_Replayed = dict[bytes, int | None]


@app.command
async def ls(
    *,
    kind: Kinds = (),
    queue: Kinds = (),
    since: str | None = None,
    limit: int = 50,
    before: str | None = None,
    options: Given,
) -> None:
    """List dead letters, newest first.

    Parameters
    ----------
    kind
        Only jobs of this kind; may be repeated.
    queue
        Only jobs of this queue; may be repeated.
    since
        Only those that died after this: a duration ago (2h) or an instant.
    limit
        At most so many, up to 500.
    before
        Go on after this job of an earlier list.
    """
    wanted = filter_of(states=["dead"], kinds=kind, queues=queue, since=since)
    cursor = None if before is None else bytes(parse_job(before))
    async with open_gateway(options) as gateway:
        page = await gateway.list_jobs(wanted, limit=limit, before=cursor)
    show_list(
        options,
        page.items,
        columns=_columns(utc_now()),
        record=job_record,
        name=lambda job: show_job(job.id),
        empty="no dead letters",
    )
    if page.next_before is not None:
        tell(f"there are more: --before {show_job(page.next_before)}")


def _columns(now: datetime) -> list[Column[JobView]]:
    return [
        Column("ID", lambda job: show_job(job.id)),
        Column("KIND", lambda job: job.kind, shrinks=True),
        Column("QUEUE", lambda job: job.queue, wide=True),
        Column("TRIES", lambda job: f"{job.tries}/{job.max_attempts}", right=True),
        Column("DIED", lambda job: _died(job, now), right=True),
        Column("REASON", lambda job: job.reason or "", from_width=110),
        Column("ERROR", _error, shrinks=True),
    ]


def _died(job: JobView, now: datetime) -> str:
    return f"{rough(now - job.finished_at)} ago" if job.finished_at else ""


def _error(job: JobView) -> str:
    error = error_of(job.error)
    if error is None:
        return job.reason or ""
    return f"{error.type}: {error.message}" if error.message else error.type


@app.command
async def get(job_id: str, /, *, options: Given) -> None:
    """Show a dead letter with its payload and every attempt.

    Parameters
    ----------
    job_id
        The job.
    """
    raw = bytes(parse_job(job_id))
    async with open_gateway(options) as gateway:
        job = await _dead(gateway, raw)
        attempts = await gateway.list_attempts(raw)
    record = job_record(job) | {"attempts": [attempt_record(item) for item in attempts]}
    show_job_page(options, job, attempts, record)
    if options.is_for_people:
        tell(f"\nnext: mainspring dlq replay {show_job(raw)} --wait")


async def _dead(gateway: ClientGateway, job_id: bytes) -> JobView:
    job = await gateway.get_job(job_id)
    if job.state is not JobState.DEAD:
        name = show_job(job_id)
        raise Conflict(
            f"{name} is no dead letter, it is {job.state.value}",
            hint=f"mainspring jobs get {name}",
        )
    return job


@app.command
async def replay(  # noqa: PLR0913 - a command's options are its arguments
    *word: Annotated[str, Parameter(name="WORD")],
    json: Annotated[str | None, Parameter(allow_leading_hyphen=True)] = None,
    kind: Kinds = (),
    queue: Kinds = (),
    since: str | None = None,
    all_: Annotated[bool, Parameter(name="--all", negative="")] = False,
    limit: int = 1_000,
    dry_run: Annotated[bool, Flag] = False,
    yes: Annotated[bool, Flag] = False,
    wait: Annotated[bool, Flag] = False,
    options: Given,
) -> None:
    """Bring dead letters back to life: same id, fresh tries, the history stays.

    Parameters
    ----------
    word
        Ids of dead letters; with one id also members of its payload to change: amount:=12.
    json
        A payload that replaces the old one (one id only): TEXT, @FILE or - for stdin.
    kind
        Instead of ids: every dead letter of this kind; may be repeated.
    queue
        Instead of ids: every dead letter of this queue; may be repeated.
    since
        Instead of ids: every one that died after this: a duration ago (2h) or an instant.
    all_
        Instead of ids: every one there is.
    limit
        With a filter: at most so many, oldest first.
    dry_run
        Only say what would be replayed.
    yes
        Do not ask.
    wait
        Stay until they have ended; exit 5 when one ends without success.
    """
    ids, changes = _ids_and_changes(word)
    wanted = _bulk_filter(ids, kind=kind, queue=queue, since=since, everything=all_)
    if (changes or json is not None) and len(ids) != 1:
        raise InvalidInput("a payload can be changed for one job only", hint="give one id")
    if not 1 <= limit <= _BULK_MAX:
        raise InvalidInput(f"limit: {limit} is not between 1 and {_BULK_MAX}")
    whole = None
    if json is not None:
        whole = payload_of(changes, json, bytes_max=options.settings().payload_bytes)
    async with open_gateway(options) as gateway:
        if wanted is not None:
            replayed = await _replay_matching(gateway, wanted, limit, dry_run=dry_run, yes=yes)
        else:
            replayed = await _replay_ids(gateway, ids, changes, whole, dry_run=dry_run)
        for raw in replayed:
            _show_change(options, raw, "ready")
        if wait:
            await _wait_for_all(gateway, replayed, options)


def _ids_and_changes(words: Sequence[str]) -> tuple[list[bytes], list[str]]:
    """Tell ids from members of a payload: only the latter have an equals sign."""
    changes = [word for word in words if "=" in word]
    return job_ids([word for word in words if "=" not in word]), changes


def _bulk_filter(
    ids: Sequence[bytes],
    *,
    kind: Sequence[str],
    queue: Sequence[str],
    since: str | None,
    everything: bool,
) -> JobFilter | None:
    """Return the filter, or nothing when ids were given; refuse both and neither."""
    is_filtered = bool(kind or queue or since or everything)
    if is_filtered and ids:
        raise InvalidInput("both ids and a filter were given", hint="give one of them")
    if not is_filtered and not ids:
        raise InvalidInput(
            "which dead letters?", hint="give ids, or --kind, --queue, --since or --all"
        )
    if not is_filtered:
        return None
    return filter_of(states=["dead"], kinds=kind, queues=queue, since=since)


async def _replay_matching(
    gateway: ClientGateway, wanted: JobFilter, limit: int, *, dry_run: bool, yes: bool
) -> _Replayed:
    found = await gateway.replay_matching(wanted, limit=limit, dry_run=True, actor=actor())
    if dry_run:
        tell(f"{count_of(found.matched, 'dead letter')} would be replayed; nothing was changed")
        return {}
    if not found.matched:
        tell("no dead letter matches; nothing was changed")
        return {}
    confirm(found.matched, "replay", yes=yes)
    done = await gateway.replay_matching(wanted, limit=found.matched, dry_run=False, actor=actor())
    tell(f"{count_of(len(done.changed), 'dead letter')} replayed")
    return dict.fromkeys(done.changed)


async def _replay_ids(
    gateway: ClientGateway,
    ids: Sequence[bytes],
    changes: Sequence[str],
    whole: bytes | None,
    *,
    dry_run: bool,
) -> _Replayed:
    jobs = [await _dead(gateway, raw) for raw in ids]
    payload = merged(jobs[0].payload, members(changes)) if changes else whole
    if dry_run:
        tell(f"{count_of(len(ids), 'dead letter')} would be replayed; nothing was changed")
        return {}
    changed = await gateway.replay(ids, payload=payload, actor=actor())
    if not changed:
        raise Conflict("nothing was replayed: somebody else was faster")
    return {job.id: job.attempt for job in jobs if job.id in changed}


async def _wait_for_all(gateway: ClientGateway, ids: _Replayed, options: Options) -> None:
    ended = [
        await watch(gateway, raw, options, after_attempt=attempt) for raw, attempt in ids.items()
    ]
    failed = [job for job in ended if job.state is not JobState.SUCCEEDED]
    if len(ids) > 1:
        tell(f"{len(ended) - len(failed):,} succeeded, {len(failed):,} did not")
    if failed:
        raise ended_badly(failed[0])
    if len(ended) == 1 and ended[0].result is not None and options.is_for_people:
        out(ended[0].result.decode())


@app.command
async def purge(  # noqa: PLR0913 - a command's options are its arguments
    *job_id: str,
    kind: Kinds = (),
    queue: Kinds = (),
    since: str | None = None,
    all_: Annotated[bool, Parameter(name="--all", negative="")] = False,
    limit: int = 1_000,
    dry_run: Annotated[bool, Flag] = False,
    yes: Annotated[bool, Flag] = False,
    options: Given,
) -> None:
    """Delete dead letters for good, with their attempts and logs.

    Parameters
    ----------
    job_id
        The dead letters.
    kind
        Instead of ids: every dead letter of this kind; may be repeated.
    queue
        Instead of ids: every dead letter of this queue; may be repeated.
    since
        Instead of ids: every one that died after this: a duration ago (2h) or an instant.
    all_
        Instead of ids: every one there is.
    limit
        With a filter: at most so many, newest first.
    dry_run
        Only say what would be deleted.
    yes
        Do not ask.
    """
    ids = job_ids(job_id)
    wanted = _bulk_filter(ids, kind=kind, queue=queue, since=since, everything=all_)
    if not 1 <= limit <= _BULK_MAX:
        raise InvalidInput(f"limit: {limit} is not between 1 and {_BULK_MAX}")
    async with open_gateway(options) as gateway:
        if wanted is not None:
            ids = [job.id async for job in every(gateway, wanted, limit=limit)]
        else:
            for raw in ids:
                await _dead(gateway, raw)
        if not ids:
            tell("no dead letter matches; nothing was changed")
            return
        if dry_run:
            tell(f"{count_of(len(ids), 'dead letter')} would be deleted; nothing was changed")
            return
        confirm(len(ids), "delete for good", yes=yes)
        deleted = await gateway.purge(ids, actor=actor())
    if not deleted:
        raise NotFound("nothing was deleted: they are gone or no longer dead")
    for raw in ids if deleted == len(ids) else ():
        _show_change(options, raw, "deleted")
    tell(f"{count_of(deleted, 'dead letter')} deleted")


def _show_change(options: Options, raw: bytes, state: str) -> None:
    name = show_job(raw)
    match options.output:
        case "table" | "wide":
            out(f"{name}  {state}")
        case "name":
            out(name)
        case "csv":
            out(f"{name},{state}")
        case "json" | "jsonl":
            out(line({"id": name, "state": state}))
