"""``mainspring dlq``: look at dead letters; replay, discard or export them."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from datetime import datetime
from pathlib import Path
from typing import Annotated, Final

from cyclopts import App, Parameter

from mainspring.cli.asking import (
    actor,
    confirm,
    filter_of,
    hint_at_slips,
    job_ids,
    open_gateway,
)
from mainspring.cli.bulk import (
    BULK_MAX,
    Selection,
    find_all,
    in_batches,
    query_within,
    refuse_both,
    show_preview,
)
from mainspring.cli.job_tables import group_columns, job_page, show_job_page
from mainspring.cli.operating import Background, detach, is_detached, query_of
from mainspring.cli.options import COMMANDS, FLAG, QUERY, VALUE, Given, Options
from mainspring.cli.output import (
    Change,
    check_change_columns,
    line,
    out,
    show_changes,
    show_list,
    tell,
)
from mainspring.cli.payloads import members, merged, payload_of
from mainspring.cli.records import attempt_record, group_record, job_record
from mainspring.cli.tables import Column
from mainspring.cli.text import count_of, rough
from mainspring.cli.watching import ProgressLine, ended_badly, wait_for_all, watch
from mainspring.domain.errors import BlobUnavailable, Conflict, InvalidInput, NotFound
from mainspring.domain.ids import parse_job, show_job
from mainspring.domain.job import JobView
from mainspring.domain.states import JobState
from mainspring.ports.clock import utc_now
from mainspring.ports.gateway import ClientGateway
from mainspring.wire.documents.common import error_of

app: Final = App(
    name="dlq",
    help="Look at dead letters; replay, discard or export them.",
    group_commands=COMMANDS,
)
_LIMIT: Final = 1_000
_LETTER: Final = "dead letter"
_DEAD: Final = "state:dead"

Query = Annotated[str | None, QUERY]
Kinds = Annotated[tuple[str, ...], Parameter(negative="")]


@app.command
async def ls(  # noqa: PLR0913 - a command's options are its arguments
    *,
    query: Query = None,
    kind: Kinds = (),
    queue: Kinds = (),
    since: Annotated[str | None, VALUE] = None,
    limit: int = 50,
    before: str | None = None,
    options: Given,
) -> None:
    """List dead letters, newest first.

    Parameters
    ----------
    query
        A search: group:ab12, error:"timed out", args.order:13, kind:email.*, finished:<1h.
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
    refuse_both(query, kind, queue, since)
    async with open_gateway(options) as gateway:
        if query is not None:
            page = await gateway.find(query_within(query, _DEAD), limit=limit, before=cursor)
        else:
            page = await gateway.list_jobs(wanted, limit=limit, before=cursor)
        show_list(
            options,
            page.items,
            columns=_columns(utc_now()),
            record=job_record,
            name=lambda job: show_job(job.id),
            empty="no dead letters",
        )
        if not page.items and (kind or queue):
            await hint_at_slips(gateway, kinds=kind, queues=queue)
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
    return error.headline if error else job.reason or ""


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
        page = await job_page(gateway, await _dead(gateway, raw))
    show_job_page(options, page)
    if options.is_for_people:
        tell(f"\nnext: mainspring dlq replay {show_job(raw)} --wait")


@app.command
async def groups(
    *,
    kind: Kinds = (),
    queue: Kinds = (),
    since: Annotated[str | None, VALUE] = None,
    limit: int = 50,
    options: Given,
) -> None:
    """List dead letters by what went wrong: one line a cause, with its trend over a day.

    Parameters
    ----------
    kind
        Only jobs of this kind; may be repeated.
    queue
        Only jobs of this queue; may be repeated.
    since
        Only those that died after this: a duration ago (2h) or an instant.
    limit
        At most so many groups, up to 500.
    """
    wanted = filter_of(states=["dead"], kinds=kind, queues=queue, since=since)
    async with open_gateway(options) as gateway:
        found = await gateway.list_groups(wanted, limit=limit)
        now = await gateway.now()
        show_list(
            options,
            found,
            columns=group_columns(now),
            record=group_record,
            name=lambda group: group.group,
            empty="no dead letters",
        )
        if not found and (kind or queue):
            await hint_at_slips(gateway, kinds=kind, queues=queue)
    if found and options.is_for_people:
        tell(f"\nnext: mainspring dlq replay -q group:{found[0].group} --wait")


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
    query: Query = None,
    kind: Kinds = (),
    queue: Kinds = (),
    since: Annotated[str | None, VALUE] = None,
    all_: Annotated[bool, Parameter(name="--all", negative="")] = False,
    limit: int | None = None,
    dry_run: Annotated[bool, FLAG] = False,
    yes: Annotated[bool, FLAG] = False,
    wait: Annotated[bool, FLAG] = False,
    background: Background | None = None,
    options: Given,
) -> None:
    """Bring dead letters back to life: same id, fresh tries, the history stays.

    Parameters
    ----------
    word
        Ids of dead letters; with one id also members of its payload to change: amount:=12.
    json
        A payload that replaces the old one (one id only): TEXT, @FILE or - for stdin.
    query
        Instead of ids, a search: group:ab12, error:"timed out", args.order:13, kind:email.*
    kind
        Instead of ids: every dead letter of this kind; may be repeated.
    queue
        Instead of ids: every dead letter of this queue; may be repeated.
    since
        Instead of ids: every one that died after this: a duration ago (2h) or an instant.
    all_
        Instead of ids: every one there is.
    limit
        With a filter: at most so many, oldest first; 1,000 if not given, with --detach all.
    dry_run
        Only say what would be replayed.
    yes
        Do not ask, however many they are.
    wait
        Stay until they have ended; exit 5 when one ends without success.
    """
    if background is None or not background.detach:
        check_change_columns(options)
    ids, changes = _ids_and_changes(word)
    selection = _selection(
        ids, limit, query=query, kind=kind, queue=queue, since=since, everything=all_
    )
    if (changes or json is not None) and len(ids) != 1:
        raise InvalidInput("a payload can be changed for one job only", hint="give one id")
    whole = None
    if json is not None:
        whole = payload_of(changes, json, bytes_max=options.settings().payload_bytes)
    detached = is_detached(background, is_search=selection is not None, dry_run=dry_run)
    async with open_gateway(options) as gateway:
        if selection is not None and detached:
            await detach(
                gateway, "replay", selection.query or query_of(selection.wanted), background,
                options, limit=limit, yes=yes, noun=_LETTER,
            )  # fmt: skip
            return
        if selection is not None:
            await _replay_many(gateway, selection, options, dry_run=dry_run, yes=yes, wait=wait)
            return
        jobs = [await _dead(gateway, raw) for raw in ids]
        payload = _changed(jobs[0], changes) if changes else whole
        if dry_run:
            show_preview(options, jobs, "replayed", utc_now(), noun=_LETTER)
            return
        changed = await gateway.replay(ids, payload=payload, actor=actor())
        if not changed:
            raise Conflict("nothing was replayed: somebody else was faster")
        came_back = [job for job in jobs if job.id in changed]
        show_changes(options, [Change(show_job(job.id), "ready") for job in came_back])
        if wait:
            await _wait_by_id(gateway, came_back, options)


def _ids_and_changes(words: Sequence[str]) -> tuple[list[bytes], list[str]]:
    """Tell ids from members of a payload: only the latter have an equals sign."""
    changes = [word for word in words if "=" in word]
    return job_ids([word for word in words if "=" not in word]), changes


def _selection(  # noqa: PLR0913 - as the command's options
    ids: Sequence[bytes],
    limit: int | None,
    *,
    query: str | None,
    kind: Sequence[str],
    queue: Sequence[str],
    since: str | None,
    everything: bool,
) -> Selection | None:
    """Return what the filter means, or nothing when ids were given; refuse both and neither."""
    refuse_both(query, kind, queue, since, everything)
    is_filtered = bool(query is not None or kind or queue or since or everything)
    if is_filtered and ids:
        raise InvalidInput("both ids and a filter were given", hint="give one of them")
    if not is_filtered and not ids:
        raise InvalidInput(
            "which dead letters?", hint="give ids, or -q, --kind, --queue, --since or --all"
        )
    if not is_filtered:
        return None
    limit = _LIMIT if limit is None else limit
    if query is not None:
        return Selection(query=query_within(query, _DEAD), limit=limit).checked()
    wanted = filter_of(states=["dead"], kinds=kind, queues=queue, since=since)
    return Selection(wanted=wanted, limit=limit).checked()


async def _matching(
    gateway: ClientGateway, selection: Selection, options: Options, verb: str, *, dry_run: bool
) -> list[JobView]:
    """Return what matches and is to be changed; with ``dry_run`` only show it."""
    jobs = await find_all(gateway, selection)
    if not jobs:
        tell("no dead letter matches; nothing was changed")
        wanted = selection.wanted
        await hint_at_slips(gateway, kinds=sorted(wanted.kinds), queues=sorted(wanted.queues))
        return []
    if dry_run:
        show_preview(options, jobs, verb, utc_now(), noun=_LETTER)
        return []
    return jobs


def _changed(job: JobView, changes: Sequence[str]) -> bytes:
    """Return the payload with changes, if it was read: else all that is not named would be lost."""
    if job.payload_is_away:
        raise BlobUnavailable(
            f"the payload of {show_job(job.id)} lies in the object store ({job.payload_ref}), "
            "which was not read: there is nothing to change"
        )
    return merged(job.payload, members(changes))


async def _replay_many(
    gateway: ClientGateway,
    selection: Selection,
    options: Options,
    *,
    dry_run: bool,
    yes: bool,
    wait: bool,
) -> None:
    jobs = await _matching(gateway, selection, options, "replayed", dry_run=dry_run)
    if not jobs:
        return
    # One is not many: it can die again, but nothing is lost by it.
    confirm(len(jobs), "replay", yes=yes or len(jobs) == 1, noun=_LETTER)
    came_back: list[bytes] = []

    async def replay_some(ids: Sequence[bytes]) -> int:
        changed = await gateway.replay(ids, actor=actor())
        came_back.extend(changed)
        return len(changed)

    await in_batches(options, [job.id for job in jobs], "replayed", replay_some)
    verb = "matches" if len(jobs) == 1 else "match"
    tell(f"{count_of(len(jobs), _LETTER)} {verb}, {len(came_back):,} replayed")
    if not options.is_for_people:
        show_changes(options, [Change(show_job(raw), "ready") for raw in came_back])
    if wait:
        _sum_up(await wait_for_all(gateway, came_back, options))


async def _wait_by_id(gateway: ClientGateway, jobs: Sequence[JobView], options: Options) -> None:
    """Tell the story of a single job; of several only how they ended."""
    if len(jobs) > 1:
        _sum_up(await wait_for_all(gateway, [job.id for job in jobs], options))
        return
    ended = await watch(gateway, jobs[0].id, options, after_attempt=jobs[0].attempt)
    if ended.state is not JobState.SUCCEEDED:
        raise ended_badly(ended)
    if ended.result is not None and options.is_for_people:
        out(ended.result.decode())


def _sum_up(ended: Sequence[JobView]) -> None:
    failed = [job for job in ended if job.state is not JobState.SUCCEEDED]
    tell(f"{len(ended) - len(failed):,} succeeded, {len(failed):,} did not")
    if failed:
        raise ended_badly(failed[0])


@app.command(name=("discard", "purge"))
async def discard(  # noqa: PLR0913 - a command's options are its arguments
    *job_id: str,
    query: Query = None,
    kind: Kinds = (),
    queue: Kinds = (),
    since: Annotated[str | None, VALUE] = None,
    all_: Annotated[bool, Parameter(name="--all", negative="")] = False,
    limit: int | None = None,
    dry_run: Annotated[bool, FLAG] = False,
    yes: Annotated[bool, FLAG] = False,
    background: Background | None = None,
    options: Given,
) -> None:
    """Delete dead letters for good, with their attempts and logs.

    Parameters
    ----------
    job_id
        The dead letters.
    query
        Instead of ids, a search: group:ab12, error:"timed out", args.order:13, kind:email.*
    kind
        Instead of ids: every dead letter of this kind; may be repeated.
    queue
        Instead of ids: every dead letter of this queue; may be repeated.
    since
        Instead of ids: every one that died after this: a duration ago (2h) or an instant.
    all_
        Instead of ids: every one there is.
    limit
        With a filter: at most so many, oldest first; 1,000 if not given, with --detach all.
    dry_run
        Only say what would be deleted.
    yes
        Do not ask.
    """
    if background is None or not background.detach:
        check_change_columns(options)
    ids = job_ids(job_id)
    selection = _selection(
        ids, limit, query=query, kind=kind, queue=queue, since=since, everything=all_
    )
    detached = is_detached(background, is_search=selection is not None, dry_run=dry_run)
    async with open_gateway(options) as gateway:
        if selection is not None and detached:
            await detach(
                gateway, "purge", selection.query or query_of(selection.wanted), background,
                options, limit=limit, yes=yes, noun=_LETTER,
            )  # fmt: skip
            return
        if selection is not None:
            jobs = await _matching(gateway, selection, options, "deleted", dry_run=dry_run)
        else:
            jobs = [await _dead(gateway, raw) for raw in ids]
            if dry_run:
                show_preview(options, jobs, "deleted", utc_now(), noun=_LETTER)
                return
        if not jobs:
            return
        confirm(len(jobs), "delete for good", yes=yes, noun=_LETTER)

        async def delete_some(some: Sequence[bytes]) -> int:
            return await gateway.purge(some, actor=actor())

        names = [job.id for job in jobs]
        deleted = await in_batches(options, names, "deleted", delete_some)
    if not deleted:
        raise NotFound("nothing was deleted: they are gone or no longer dead")
    if deleted == len(jobs) and (selection is None or not options.is_for_people):
        show_changes(options, [Change(show_job(raw), "deleted") for raw in names])
    tell(f"{count_of(deleted, _LETTER)} deleted")


@app.command
async def export(  # noqa: PLR0913 - a command's options are its arguments
    *,
    to: str = "-",
    query: Query = None,
    kind: Kinds = (),
    queue: Kinds = (),
    since: Annotated[str | None, VALUE] = None,
    limit: int = BULK_MAX,
    force: Annotated[bool, FLAG] = False,
    options: Given,
) -> None:
    """Write dead letters with their attempts as JSON lines, oldest first; they stay.

    Parameters
    ----------
    to
        A file that is not there yet; - is stdout.
    query
        Only what this search finds: group:ab12, error:"timed out".
    kind
        Only of this kind; may be repeated.
    queue
        Only of this queue; may be repeated.
    since
        Only those that died after this: a duration ago (2h) or an instant.
    limit
        At most so many.
    force
        Replace the file if it is there.
    """
    selection = _selection(
        (), limit, query=query, kind=kind, queue=queue, since=since, everything=query is None
    )
    assert selection is not None
    with _opened(to, force=force) as write:
        async with open_gateway(options) as gateway:
            jobs = await find_all(gateway, selection)
            bar = ProgressLine(options, len(jobs), "exported")
            try:
                for done, job in enumerate(jobs, 1):
                    full = await gateway.get_job(job.id)
                    attempts = await gateway.list_attempts(job.id)
                    write(
                        line(
                            job_record(full)
                            | {"attempts": [attempt_record(item) for item in attempts]}
                        )
                    )
                    bar.move(done)
            finally:
                bar.end()
    tell(f"{count_of(len(jobs), _LETTER)} exported" + ("" if to == "-" else f" to {to}"))


@contextmanager
def _opened(to: str, *, force: bool) -> Iterator[Callable[[str], None]]:
    """Open what an export is written to; a file is not replaced by accident."""
    if to == "-":
        yield out
        return
    try:
        with Path(to).open("w" if force else "x", encoding="utf-8") as file:
            yield lambda text: print(text, file=file)
    except FileExistsError:
        raise Conflict(f"{to} is there already", hint="name another file, or add --force") from None
    except OSError as error:
        raise InvalidInput(
            f"{to} cannot be written: {error.strerror}", hint="name a file that can: --to FILE"
        ) from error
