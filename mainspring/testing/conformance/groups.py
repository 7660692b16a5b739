"""Groups of failures: ``QueryStore.list_groups``, and the group that a job carries."""

from datetime import datetime, timedelta
from typing import Any

import msgspec

from mainspring.domain.job import FailureGroup, JobFilter, Trend
from mainspring.domain.outcome import ErrorInfo, Failed
from mainspring.domain.states import JobState
from mainspring.policies.fingerprint import group_of
from mainspring.ports.store import Store
from mainspring.testing.builders import KIND
from mainspring.testing.clock import BEGINNING, SettableClock
from mainspring.testing.conformance.steps import (
    FAILED,
    SUCCEEDED,
    Suite,
    accept,
    claim_one,
    finish,
    open_worker,
    start,
    submit_one,
    view,
)
from mainspring.testing.filters import admits

_WINDOWS = ("created_after", "created_before", "finished_after", "finished_before")
_HOURS = Trend(BEGINNING, 3_600_000, 24)


def _error(message: str = "no answer", **changes: Any) -> ErrorInfo:
    return ErrorInfo(**{"type": "Timeout", "message": message, "where": "pay.py:3", **changes})


async def _dies(store: Store, error: ErrorInfo, **changes: Any) -> bytes:
    claimed = await start(store, **changes)
    await accept(store, claimed, Failed(error, permanent=True))
    return claimed.job_id


async def _groups(store: Store, *, limit: int = 10, **changes: Any) -> list[FailureGroup]:
    return await store.list_groups(JobFilter(**changes), trend=_HOURS, limit=limit)


def _window(name: str, at: datetime) -> JobFilter:
    edge: dict[str, Any] = {name: at}
    return JobFilter(**edge)


class FilterSuite(Suite):
    """Every member of ``JobFilter``, against its plain meaning."""

    async def test_a_list_is_what_the_filter_admits(
        self, store: Store, clock: SettableClock
    ) -> None:
        for number in range(4):
            clock.advance(10)
            tenant, delay_ms = "ab"[number // 2], [None, 5_000][number % 2]
            await submit_one(store, queue=f"q{number % 2}", tenant=tenant, delay_ms=delay_ms)
            await _dies(store, _error("ab"[number % 2]), tenant=tenant)
        page = await store.list_jobs(JobFilter(), limit=100, before=None)
        jobs = page.items
        assert len(jobs) == 8
        ids = sorted(job.id for job in jobs)
        instants = sorted({job.created_at for job in jobs} | {clock.now()})
        groups = {job.error_group for job in jobs if job.error_group}
        filters = [
            JobFilter(),
            *(JobFilter(states=frozenset({state})) for state in JobState),
            *(JobFilter(queues=frozenset({queue})) for queue in ("q0", "q1", "default")),
            *(JobFilter(tenant=tenant) for tenant in "abc"),
            *(JobFilter(groups=frozenset({group})) for group in groups),
            JobFilter(kinds=frozenset({"other"})),
            *(_window(name, instant) for instant in instants for name in _WINDOWS),
            JobFilter(created_after=instants[1], created_before=instants[3]),
            JobFilter(id_from=ids[2], id_before=ids[6]),
            JobFilter(id_from=ids[7]),
            JobFilter(tenant="a", states=frozenset({JobState.DEAD}), created_after=instants[1]),
        ]
        for wanted in filters:
            found = await store.list_jobs(wanted, limit=100, before=ids[7])
            expected = [job for job in jobs if job.id < ids[7] and admits(wanted, job)]
            assert list(found.items) == expected, wanted


class GroupSuite(Suite):
    """Every sentence of ``list_groups``."""

    async def test_nothing_failed(self, store: Store) -> None:
        await finish(store)
        assert await _groups(store) == []

    async def test_jobs_that_failed_alike_are_one_group(
        self, store: Store, clock: SettableClock
    ) -> None:
        first_at = clock.now()
        await _dies(store, _error("no answer in 5 ms"))
        last_at = clock.advance(90 * 60)
        last = await _dies(store, _error("no answer in 77 ms"))
        await _dies(store, _error("refused"))
        found = await _groups(store)
        assert [each.jobs for each in found] == [2, 1]
        group = found[0]
        assert group.group == group_of(KIND, _error("no answer in 5 ms"))
        assert (group.kind, group.sample_id) == (KIND, last)
        assert (group.first_at, group.last_at) == (first_at, last_at)
        assert msgspec.json.decode(group.error, type=ErrorInfo) == _error("no answer in 77 ms")
        assert group.trend == (1, 1, *[0] * 22)

    async def test_the_trend_counts_what_lies_inside_of_it(
        self, store: Store, clock: SettableClock
    ) -> None:
        trend = Trend(clock.now() + timedelta(seconds=10), 1_000, 3)
        for seconds in (9.999_999, 0.000_001, 0.999_999, 0.000_001, 1.999_998, 0.000_001, 5):
            clock.advance(seconds)
            await _dies(store, _error())
        (group,) = await store.list_groups(JobFilter(), trend=trend, limit=5)
        assert (group.jobs, group.trend) == (7, (2, 1, 2))

    async def test_most_jobs_first_and_then_the_last_to_fail(
        self, store: Store, clock: SettableClock
    ) -> None:
        for message in ("b", "a", "c", "a"):
            clock.advance(1)
            await _dies(store, _error(message))
        found = await _groups(store)
        assert [each.group for each in found] == [group_of(KIND, _error(x)) for x in "acb"]
        assert await _groups(store, limit=2) == found[:2]

    async def test_only_what_matches_is_counted_and_shown(
        self, store: Store, clock: SettableClock
    ) -> None:
        mine = await _dies(store, _error("n 1"), tenant="mine")
        clock.advance(1)
        theirs = await _dies(store, _error("n 2"), tenant="theirs")
        (both,) = await _groups(store)
        assert (both.jobs, both.sample_id) == (2, theirs)
        (one,) = await _groups(store, tenant="mine")
        assert (one.jobs, one.sample_id, sum(one.trend)) == (1, mine, 1)
        for changes in (
            {"kinds": frozenset({"other"})},
            {"queues": frozenset({"other"})},
            {"groups": frozenset({"other"})},
            {"states": frozenset({JobState.CANCELLED})},
            {"finished_after": clock.now() + timedelta(seconds=1)},
            {"finished_before": BEGINNING},
            {"created_after": clock.now() + timedelta(seconds=1)},
        ):
            assert await _groups(store, **changes) == [], changes

    async def test_a_job_that_comes_back_leaves_its_group(self, store: Store) -> None:
        dead = await _dies(store, _error())
        await store.replay([dead], payload=None, actor="me")
        assert await _groups(store) == []
        running = await claim_one(store, await open_worker(store))
        await accept(store, running, SUCCEEDED)
        assert await _groups(store) == []

    async def test_a_job_that_failed_and_was_cancelled_keeps_its_group(self, store: Store) -> None:
        claimed = await start(store)
        await accept(store, claimed, FAILED)
        retrying = await view(store, claimed.job_id)
        assert retrying.error_group == group_of(KIND, FAILED.error)
        await store.cancel([claimed.job_id], reason="", force=False, actor="me")
        (group,) = await _groups(store, states=frozenset({JobState.CANCELLED}))
        assert group.group == retrying.error_group
        assert (await view(store, claimed.job_id)).error_group == group.group

    async def test_lists_find_the_jobs_of_a_group(self, store: Store) -> None:
        dead = await _dies(store, _error())
        await _dies(store, _error("other"))
        retrying = await start(store)
        await accept(store, retrying, Failed(_error("no answer")))
        groups = frozenset({group_of(KIND, _error())})
        page = await store.list_jobs(JobFilter(groups=groups), limit=9, before=None)
        assert {job.id for job in page.items} == {dead, retrying.job_id}
