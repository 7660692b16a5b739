"""What commands share: opening the store, reading ids and filters, asking before harm."""

import difflib
import getpass
import sys
from collections.abc import AsyncIterator, Iterable, Sequence
from contextlib import AbstractAsyncContextManager
from datetime import UTC, datetime, timedelta
from socket import gethostname

from mainspring.app.durations import milliseconds
from mainspring.cli.options import Options
from mainspring.cli.output import tell
from mainspring.cli.text import count_of
from mainspring.domain.access import Actor
from mainspring.domain.errors import (
    InvalidInput,
    NaiveDatetime,
    UnknownOption,
)
from mainspring.domain.ids import parse_job
from mainspring.domain.job import JobFilter, JobView
from mainspring.domain.limits import PAGE_ITEMS_MAX
from mainspring.domain.states import JobState
from mainspring.ports.clock import utc_now
from mainspring.ports.gateway import ClientGateway


def open_gateway(options: Options) -> AbstractAsyncContextManager[ClientGateway]:
    """Open the client's door to the store that the options name."""
    # Imported late: --help needs no store.
    from mainspring.runtime.assemble import open_client_gateway

    return open_client_gateway(options.settings())


def actor() -> Actor:
    """Return who acts, and on which machine, for the audit."""
    try:
        name = f"cli:{getpass.getuser()}"
    except (KeyError, OSError):
        # No such user on this machine, as in many containers.
        name = "cli"
    return Actor(name, gethostname())


def job_ids(words: Sequence[str]) -> list[bytes]:
    """Read ids, each once, in the order given."""
    return list(dict.fromkeys(bytes(parse_job(word)) for word in words))


def states_of(words: Sequence[str]) -> frozenset[JobState]:
    """Read states; several may be joined by commas."""
    found: set[JobState] = set()
    for word in (part for given in words for part in given.split(",") if part):
        try:
            found.add(JobState(word))
        except ValueError:
            near = nearest(word, JobState)
            hint = f"did you mean {near}?" if near else f"use one of {', '.join(JobState)}"
            raise UnknownOption(f"state: there is no {word!r}", hint=hint) from None
    return frozenset(found)


def instant_of(text: str, *, name: str) -> datetime:
    """Read an instant, or a duration that ended just now: ``2h`` is two hours ago."""
    if text[:4].isdigit() and "-" in text:
        try:
            instant = datetime.fromisoformat(text)
        except ValueError:
            raise InvalidInput(
                f"{name}: {text!r} is not an instant",
                hint="write it like 2027-01-31T09:00:00Z, or as a duration: 2h",
            ) from None
        if instant.tzinfo is None:
            raise NaiveDatetime(f"{name}: {text!r} has no time zone")
        return instant.astimezone(UTC)
    if not text[:2].strip(" -")[:1].isdigit():
        raise InvalidInput(
            f"{name}: {text!r} is neither a duration nor an instant",
            hint="write 2h for two hours ago, or 2027-01-31T09:00:00Z",
        )
    return utc_now() - timedelta(milliseconds=milliseconds(text, name=name))


def filter_of(
    *,
    states: Sequence[str] = (),
    kinds: Sequence[str] = (),
    queues: Sequence[str] = (),
    since: str | None = None,
    until: str | None = None,
) -> JobFilter:
    """Return the filter that the options of a list describe."""
    return JobFilter(
        states=states_of(states),
        kinds=frozenset(kinds),
        queues=frozenset(queues),
        finished_after=None if since is None else instant_of(since, name="since"),
        finished_before=None if until is None else instant_of(until, name="until"),
    )


async def every(gateway: ClientGateway, wanted: JobFilter, *, limit: int) -> AsyncIterator[JobView]:
    """Yield matching jobs, newest first, page by page."""
    before: bytes | None = None
    while limit > 0:
        page = await gateway.list_jobs(wanted, limit=min(limit, PAGE_ITEMS_MAX), before=before)
        for job in page.items:
            yield job
        limit -= len(page.items)
        before = page.next_before
        if before is None:
            return


def confirm(count: int, verb: str, *, yes: bool, noun: str = "job") -> None:
    """Let a person confirm by typing the number; without a terminal ``--yes`` is needed."""
    if yes:
        return
    what = f"{verb} {count_of(count, noun)}"
    if sys.stdin is None or not sys.stdin.isatty():
        raise InvalidInput(
            f"this would {what}; nothing was changed", hint="add --yes, or --dry-run to look first"
        )
    tell(f"This will {what}. Type {count} to go on:")
    if sys.stdin.readline().strip() != str(count):
        raise InvalidInput("not confirmed; nothing was changed", hint="add --yes to skip this")


async def hint_at_slips(
    gateway: ClientGateway, *, kinds: Sequence[str] = (), queues: Sequence[str] = ()
) -> None:
    """Tell of names in a filter that nobody has ever declared; called when nothing was found."""
    handlers = await gateway.list_handlers()
    known_kinds = {handler.kind for handler in handlers}
    for kind in kinds:
        if kind not in known_kinds:
            tell(f"no worker has declared the kind {kind!r}{_near(kind, known_kinds)}")
    if queues:
        known = await known_queues(gateway)
        for queue in queues:
            if queue not in known:
                tell(f"nothing names a queue {queue!r}{_near(queue, known)}")


async def known_queues(gateway: ClientGateway, *, with_jobs: bool = True) -> set[str]:
    """Return every queue that a handler or worker names, or that has jobs or a pause."""
    names = {handler.queue for handler in await gateway.list_handlers()}
    names |= {name for worker in await gateway.list_workers() for name in worker.queues}
    return names | ({item.name for item in await gateway.list_queues()} if with_jobs else set())


def nearest(word: str, known: Iterable[str]) -> str:
    """Return the name that was probably meant, or nothing."""
    return next(iter(difflib.get_close_matches(word, list(known), 1, 0.6)), "")


def _near(word: str, known: Iterable[str]) -> str:
    near = nearest(word, known)
    return f"; did you mean {near}?" if near else ""
