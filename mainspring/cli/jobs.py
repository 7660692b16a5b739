"""``mainspring jobs``: look at jobs; watch, retry and cancel them."""

from collections.abc import Sequence
from typing import Annotated, Final

from cyclopts import App, Parameter

from mainspring.app.durations import milliseconds
from mainspring.cli.asking import (
    actor,
    confirm,
    filter_of,
    hint_at_slips,
    job_ids,
    open_gateway,
)
from mainspring.cli.bulk import Selection, find_all, in_batches, refuse_both, show_preview
from mainspring.cli.explaining import explain_job, show_explanation
from mainspring.cli.job_tables import job_columns, job_page, show_job_page
from mainspring.cli.operating import Background, detach, is_detached, query_of
from mainspring.cli.options import COMMANDS, FLAG, QUERY, VALUE, Given, Options
from mainspring.cli.output import (
    Change,
    check_change_columns,
    out,
    show_changes,
    show_list,
    show_stream,
    tell,
    tell_dry_run,
)
from mainspring.cli.records import job_record, log_record
from mainspring.cli.submit import show_end
from mainspring.cli.text import count_of, styled
from mainspring.cli.watching import ended_badly, log_text, wait_for_all, watch
from mainspring.domain.errors import Conflict, InvalidInput, NotFound
from mainspring.domain.ids import parse_job, show_job
from mainspring.domain.job import JobFilter, JobView
from mainspring.domain.states import FINAL, HELD, LIVE, JobState
from mainspring.ports.clock import utc_now
from mainspring.ports.gateway import ClientGateway
from mainspring.ports.store import CancelResult

app: Final = App(
    name="jobs", help="Look at jobs; watch, retry and cancel them.", group_commands=COMMANDS
)
_FOLLOW_SECONDS: Final = 1.0
_LIMIT: Final = 1_000
Query = Annotated[str | None, QUERY]
_PATIENCE: Final = Parameter(name=["--timeout", "--wait-timeout"], allow_leading_hyphen=True)
_RUNNABLE: Final = frozenset({JobState.SCHEDULED, JobState.RETRYING})


@app.command
async def ls(  # noqa: PLR0913 - a command's options are its arguments
    *,
    query: Query = None,
    state: Annotated[tuple[str, ...], Parameter(negative="")] = (),
    kind: Annotated[tuple[str, ...], Parameter(negative="")] = (),
    queue: Annotated[tuple[str, ...], Parameter(negative="")] = (),
    schedule: Annotated[str | None, VALUE] = None,
    since: Annotated[str | None, VALUE] = None,
    until: Annotated[str | None, VALUE] = None,
    limit: int = 50,
    before: str | None = None,
    options: Given,
) -> None:
    """List jobs, newest first.

    Parameters
    ----------
    query
        A search: state:dead,failed kind:email.* args.user:42 error:"timed out" created:<1h.
    state
        Only jobs in this state; several by commas or by repeating the option.
    kind
        Only jobs of this kind; may be repeated.
    queue
        Only jobs of this queue; may be repeated.
    schedule
        Only jobs that this schedule fired: its name or id. Goes with all the others.
    since
        Only jobs that ended after this: a duration ago (2h) or an instant.
    until
        Only jobs that ended before this.
    limit
        At most so many, up to 500.
    before
        Go on after this job of an earlier list.
    """
    wanted = filter_of(states=state, kinds=kind, queues=queue, since=since, until=until)
    cursor = None if before is None else bytes(parse_job(before))
    refuse_both(query, state, kind, queue, since, until)
    async with open_gateway(options) as gateway:
        if schedule is not None:
            query = await _fired_by(gateway, schedule, wanted, query)
        if query is not None:
            page = await gateway.find(query, limit=limit, before=cursor)
        else:
            page = await gateway.list_jobs(wanted, limit=limit, before=cursor)
        show_list(
            options,
            page.items,
            columns=job_columns(utc_now()),
            record=job_record,
            name=lambda job: show_job(job.id),
            empty="no jobs" + (" match" if query or wanted != filter_of() else " yet"),
        )
        if not page.items and (kind or queue):
            await hint_at_slips(gateway, kinds=kind, queues=queue)
    if page.next_before is not None:
        tell(f"there are more: --before {show_job(page.next_before)}")


async def _fired_by(
    gateway: ClientGateway, schedule: str, wanted: JobFilter, query: str | None
) -> str:
    """Return the search for jobs that a schedule fired, and that all the rest means as well."""
    found = await gateway.schedules.get(schedule)
    terms = [f"schedule:{found.schedule_id}", query_of(wanted), query or ""]
    return " ".join(term for term in terms if term)


@app.command
async def get(job_id: str, /, *, options: Given) -> None:
    """Show a job with its payload, its result, every attempt, and the fire that it came from.

    Parameters
    ----------
    job_id
        The job.
    """
    raw = bytes(parse_job(job_id))
    async with open_gateway(options) as gateway:
        page = await job_page(gateway, await gateway.get_job(raw))
    show_job_page(options, page)


@app.command(name="watch")
async def watch_(
    job_id: str,
    /,
    *,
    follow: Annotated[bool, Parameter(negative="")] = False,
    timeout: Annotated[str | None, _PATIENCE] = None,
    options: Given,
) -> None:
    """Stay with a job until it ends; exit 5 when it ends without success.

    Parameters
    ----------
    job_id
        The job.
    follow
        Show its log and progress, too.
    timeout
        Leave after this long with exit 7; the job goes on.
    """
    raw = bytes(parse_job(job_id))
    patience = None if timeout is None else milliseconds(timeout, name="timeout") / 1_000
    async with open_gateway(options) as gateway:
        job = await watch(gateway, raw, options, follow=follow, timeout_seconds=patience)
    show_end(options, job)


@app.command
async def wait(
    *job_id: Annotated[str, Parameter(required=True)],
    timeout: Annotated[str | None, _PATIENCE] = None,
    options: Given,
) -> None:
    """Wait until jobs have ended, and print how; exit 5 when one ends without success.

    Parameters
    ----------
    job_id
        The jobs.
    timeout
        Leave after this long with exit 7; the jobs go on.
    """
    check_change_columns(options)
    ids = job_ids(job_id)
    patience = None if timeout is None else milliseconds(timeout, name="timeout") / 1_000
    async with open_gateway(options) as gateway:
        for raw in ids:
            await gateway.get_job(raw)
        tell(f"waiting for {count_of(len(ids), 'job')}; Ctrl-C lets go, they go on")
        ended = await wait_for_all(gateway, ids, options, timeout_seconds=patience)
    show_changes(
        options,
        [Change(show_job(job.id), job.state.value) for job in ended],
    )
    failed = [job for job in ended if job.state is not JobState.SUCCEEDED]
    if failed:
        raise ended_badly(failed[0])


@app.command
async def explain(job_id: str, /, *, options: Given) -> None:
    """Say why a job is not running: what it waits for, from what is in the store.

    Parameters
    ----------
    job_id
        The job.
    """
    raw = bytes(parse_job(job_id))
    async with open_gateway(options) as gateway:
        found = await explain_job(gateway, raw)
    show_explanation(options, found)


@app.command
async def logs(
    job_id: str,
    /,
    *,
    follow: Annotated[bool, Parameter(name=["--follow", "-f"], negative="")] = False,
    options: Given,
) -> None:
    """Print what a job's handler logged.

    Parameters
    ----------
    job_id
        The job.
    follow
        Go on until the job ends.
    """
    raw = bytes(parse_job(job_id))
    async with open_gateway(options) as gateway:
        job = await gateway.get_job(raw)
        cursor = await _print_logs(gateway, raw, None, options)
        while follow and job.state not in FINAL:
            job = await gateway.wait_for_change(raw, job, _FOLLOW_SECONDS)
            cursor = await _print_logs(gateway, raw, cursor, options)
    if cursor is None and options.is_for_people:
        tell(f"{show_job(raw)} has logged nothing")


async def _print_logs(
    gateway: ClientGateway, job_id: bytes, cursor: tuple[int, int] | None, options: Options
) -> tuple[int, int] | None:
    while lines := await gateway.list_logs(job_id, after=cursor):
        for found in lines:
            if cursor is not None and found.attempt != cursor[0] and options.is_for_people:
                out(styled(f"-- attempt {found.attempt}", "dim", color=options.colors_data))
            if options.is_for_people:
                out(log_text(found, color=options.colors_data))
            else:
                show_stream(options, log_record(found))
            cursor = (found.attempt, found.sequence)
    return cursor


@app.command
async def retry(
    *job_id: str,
    query: Query = None,
    limit: int | None = None,
    dry_run: Annotated[bool, FLAG] = False,
    yes: Annotated[bool, FLAG] = False,
    background: Background | None = None,
    options: Given,
) -> None:
    """Run waiting jobs now, and bring dead ones back.

    Parameters
    ----------
    job_id
        Jobs that are scheduled, retrying or dead.
    query
        Instead of ids, a search: state:retrying kind:email.*
    limit
        With a search: at most so many, oldest first; 1,000 if not given, with --detach all.
    dry_run
        Only say what would be done.
    yes
        With a search: do not ask.
    """
    if background is None or not background.detach:
        check_change_columns(options)
    ids = job_ids(job_id)
    selection = _selection(ids, query, limit)
    detached = is_detached(background, is_search=query is not None, dry_run=dry_run)
    async with open_gateway(options) as gateway:
        if detached:
            await detach(
                gateway, "retry", query or "", background, options,
                limit=limit, yes=yes, noun="job",
            )  # fmt: skip
            return
        if selection is not None:
            ids = await _matching(gateway, selection, options, "retry", dry_run=dry_run, yes=yes)
            if not ids:
                return
        states = {raw: (await gateway.get_job(raw)).state for raw in ids}
        waiting = [raw for raw in ids if states[raw] in _RUNNABLE]
        dead = [raw for raw in ids if states[raw] is JobState.DEAD]
        if dry_run:
            changed = [*waiting, *dead]
        else:
            changed = [
                *(await gateway.run_now(waiting, actor=actor()) if waiting else []),
                *(await gateway.replay(dead, actor=actor()) if dead else []),
            ]
    show_changes(
        options,
        [
            Change(show_job(raw), "ready" if raw in changed else states[raw].value, raw in changed)
            for raw in ids
        ],
    )
    if dry_run:
        tell_dry_run()
    if not changed:
        raise Conflict(
            "nothing was changed: none of them waits or is dead",
            hint=f"mainspring jobs explain {show_job(ids[0])}",
        )


@app.command
async def cancel(  # noqa: PLR0913 - a command's options are its arguments
    *job_id: str,
    query: Query = None,
    limit: int | None = None,
    force: Annotated[bool, FLAG] = False,
    reason: str = "",
    dry_run: Annotated[bool, FLAG] = False,
    yes: Annotated[bool, FLAG] = False,
    background: Background | None = None,
    options: Given,
) -> None:
    """Cancel jobs: waiting ones end at once, running ones are asked to stop.

    Parameters
    ----------
    job_id
        The jobs.
    query
        Instead of ids, a search: state:ready,scheduled kind:email.*
    limit
        With a search: at most so many, oldest first; 1,000 if not given, with --detach all.
    force
        End running ones at once, too; what their handlers still do is ignored.
    reason
        Kept with the job.
    dry_run
        Only say what would be done.
    yes
        With a search: do not ask.
    """
    if background is None or not background.detach:
        check_change_columns(options)
    ids = job_ids(job_id)
    selection = _selection(ids, query, limit)
    detached = is_detached(background, is_search=query is not None, dry_run=dry_run)
    async with open_gateway(options) as gateway:
        if detached:
            await detach(
                gateway, "cancel", query or "", background, options,
                limit=limit, yes=yes, noun="job", reason=reason, force=force,
            )  # fmt: skip
            return
        if selection is not None:
            ids = await _matching(gateway, selection, options, "cancel", dry_run=dry_run, yes=yes)
            if not ids:
                return
        if dry_run:
            results = [_foreseen(await gateway.get_job(raw), force=force) for raw in ids]
        else:
            results = []

            async def cancel_some(some: Sequence[bytes]) -> int:
                results.extend(
                    await gateway.cancel(some, reason=reason, force=force, actor=actor())
                )
                return len(some)

            await in_batches(options, ids, "cancelled", cancel_some)
    show_changes(
        options,
        [Change(show_job(item.job_id), _state_word(item), item.changed) for item in results],
    )
    if dry_run:
        tell_dry_run()
    missing = [item for item in results if item.state is None]
    if missing:
        raise NotFound(f"there is no job {show_job(missing[0].job_id)}")
    stays = [item for item in results if not item.changed and item.state not in _CANCELLED]
    if stays:
        first = stays[0]
        raise Conflict(
            f"{show_job(first.job_id)} is {first.state} already and stays so",
            hint=f"mainspring jobs get {show_job(first.job_id)}",
        )


def _selection(ids: Sequence[bytes], query: str | None, limit: int | None) -> Selection | None:
    """Return what the search means, or nothing when ids were given; refuse both and neither."""
    refuse_both(query)
    if ids and query is not None:
        raise InvalidInput("both ids and a search were given", hint="give one of them")
    if not ids and query is None:
        raise InvalidInput("which jobs?", hint="give JOB_IDs, or a search: -q 'kind:charge'")
    return (
        None
        if query is None
        else Selection(query=query, limit=_LIMIT if limit is None else limit).checked()
    )


async def _matching(
    gateway: ClientGateway,
    selection: Selection,
    options: Options,
    verb: str,
    *,
    dry_run: bool,
    yes: bool,
) -> list[bytes]:
    """Return what matches and can be changed, agreed to by whoever types."""
    changeable = LIVE if verb == "cancel" else _RETRIABLE
    jobs = [job for job in await find_all(gateway, selection) if job.state in changeable]
    if not jobs:
        tell("no job matches that this could change; nothing was changed")
    elif dry_run:
        show_preview(options, jobs, _PAST[verb], utc_now(), noun="job")
        return []
    else:
        confirm(len(jobs), verb, yes=yes or len(jobs) == 1)
    return [job.id for job in jobs]


_PAST: Final = {"retry": "retried", "cancel": "cancelled"}
_RETRIABLE: Final = _RUNNABLE | {JobState.DEAD}
_CANCELLED: Final = frozenset({JobState.CANCELLED, JobState.CANCELLING})


def _foreseen(job: JobView, *, force: bool) -> CancelResult:
    """Return what a cancel would answer."""
    if job.state in FINAL:
        return CancelResult(job.id, changed=False, state=job.state)
    asks = job.state in HELD and not force
    after = JobState.CANCELLING if asks else JobState.CANCELLED
    return CancelResult(job.id, changed=after is not job.state, state=after)


def _state_word(result: CancelResult) -> str:
    return "unknown" if result.state is None else result.state.value
