"""Many jobs at once: the set is found first and then stays as it is, whatever happens meanwhile."""

from collections import Counter, deque
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from datetime import datetime
from typing import Final

import msgspec

from mainspring.cli.asking import every
from mainspring.cli.job_tables import job_columns
from mainspring.cli.options import Options
from mainspring.cli.output import show_list, tell
from mainspring.cli.records import job_record
from mainspring.cli.text import count_of
from mainspring.cli.watching import ProgressLine
from mainspring.domain.errors import InvalidInput
from mainspring.domain.ids import show_job
from mainspring.domain.job import JobFilter, JobView
from mainspring.domain.limits import PAGE_ITEMS_MAX
from mainspring.ports.gateway import ClientGateway

BULK_MAX: Final = 10_000
#: Jobs changed by one call: the next ones wait no longer than these take.
_BATCH_JOBS: Final = 200
_SAMPLE_JOBS: Final = 5


class Selection(msgspec.Struct, frozen=True, kw_only=True):
    """Which jobs a bulk command means: by a filter, or by a search."""

    limit: int
    wanted: JobFilter = JobFilter()
    query: str | None = None

    def checked(self) -> "Selection":
        """Refuse a limit that is out of bounds."""
        if not 1 <= self.limit <= BULK_MAX:
            raise InvalidInput(f"limit: {self.limit} is not between 1 and {BULK_MAX}")
        return self


async def find_all(gateway: ClientGateway, selection: Selection) -> list[JobView]:
    """Return the jobs that match, oldest first, at most as many as wanted."""
    oldest: deque[JobView] = deque(maxlen=selection.limit)
    if selection.query is None:
        async for job in every(gateway, selection.wanted, limit=10**9):
            oldest.append(job)
    else:
        async for job in search(gateway, selection.query):
            oldest.append(job)
    return list(reversed(oldest))


async def search(gateway: ClientGateway, query: str) -> AsyncIterator[JobView]:
    """Yield what a search finds, newest first, to its end."""
    before: bytes | None = None
    while True:
        page = await gateway.find(query, limit=PAGE_ITEMS_MAX, before=before)
        for job in page.items:
            yield job
        before = page.next_before
        if before is None:
            return


def query_within(query: str, *words: str) -> str:
    """Return a search for what matches and is, beside, in these words."""
    return " ".join([*words, query])


def refuse_both(query: str | None, *others: object) -> None:
    """Refuse a search beside other filters, which says the same and more; and an empty one."""
    if query is not None and not query.strip():
        # An unset variable of a script would mean every job.
        raise InvalidInput("-q: it is empty", hint="name what is meant: -q 'kind:charge'")
    if query is not None and any(others):
        raise InvalidInput(
            "both -q and another filter were given",
            hint="say it in the search: -q 'kind:charge queue:mail created:<1h'",
        )


async def in_batches(
    options: Options,
    ids: Sequence[bytes],
    verb: str,
    change: Callable[[Sequence[bytes]], Awaitable[int]],
) -> int:
    """Change jobs batch by batch and show how far it is; return how many were changed."""
    bar = ProgressLine(options, len(ids), verb)
    changed = 0
    try:
        for start in range(0, len(ids), _BATCH_JOBS):
            changed += await change(ids[start : start + _BATCH_JOBS])
            bar.move(min(len(ids), start + _BATCH_JOBS))
    finally:
        bar.end()
    return changed


def show_preview(
    options: Options, jobs: Sequence[JobView], verb: str, now: datetime, *, noun: str
) -> None:
    """Show what a bulk command would change: how many, of which kinds, and a few of them."""
    show_list(
        options,
        jobs[:_SAMPLE_JOBS] if options.is_for_people else jobs,
        columns=job_columns(now),
        record=job_record,
        name=lambda job: show_job(job.id),
        empty=f"no {noun} matches",
    )
    if len(jobs) > _SAMPLE_JOBS and options.is_for_people:
        tell(f"… and {len(jobs) - _SAMPLE_JOBS:,} more")
    kinds = Counter(job.kind for job in jobs).most_common()
    split = ", ".join(f"{count:,} {kind}" for kind, count in kinds) if len(kinds) > 1 else ""
    more = f" ({split})" if split else ""
    tell(f"{count_of(len(jobs), noun)} would be {verb}{more}; nothing was changed")
