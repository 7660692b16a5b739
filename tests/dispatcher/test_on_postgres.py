"""What PostgreSQL cannot hold must not stop a batch of reports, lines or progress."""

from collections.abc import AsyncIterator

import pytest

from mainspring.dispatcher.gateway import LocalGateway
from mainspring.dispatcher.judgement import fixed_dice
from mainspring.domain.outcome import (
    Cancelled,
    ErrorInfo,
    Failed,
    Outcome,
    Released,
    Snoozed,
    Succeeded,
)
from mainspring.domain.states import JobState
from mainspring.ports.clock import monotonic
from mainspring.ports.entropy import new_job_id
from mainspring.ports.store import Store
from mainspring.store.postgres import open_postgres
from mainspring.testing.builders import claim_ask, log_line, new_job, progress
from mainspring.testing.conformance.steps import counts
from tests.conftest import MakeDatabase
from tests.dispatcher.doors import open_worker, report_of

pytestmark = pytest.mark.postgres
_STRANGE = "a\x00b\ud800c"


@pytest.fixture
def dsn(migrated_database: MakeDatabase) -> str:
    return migrated_database()


@pytest.fixture
async def store(dsn: str) -> AsyncIterator[Store]:
    opened: Store = await open_postgres(dsn)
    yield opened
    await opened.close()


@pytest.fixture
def gateway(store: Store) -> LocalGateway:
    dice = fixed_dice(lambda: 0.0, new_job_id)
    return LocalGateway(store, blobs=None, dice=dice, monotonic=monotonic)


async def test_strange_text_in_reports(gateway: LocalGateway, store: Store) -> None:
    worker = await open_worker(gateway)
    jobs = [new_job(on_exhausted="after") for _ in range(6)]
    await store.submit(jobs)
    claimed = await gateway.claim(claim_ask(worker))
    error = ErrorInfo(_STRANGE, _STRANGE, _STRANGE, _STRANGE)
    outcomes: tuple[Outcome, ...] = (
        Succeeded(b'"a\\u0000b"'),
        Failed(error),
        Failed(error, permanent=True),
        Snoozed(10**18, _STRANGE),
        Released(_STRANGE),
        Cancelled(_STRANGE),
    )
    given = [report_of(job, outcome) for job, outcome in zip(claimed, outcomes, strict=True)]
    assert await gateway.report(given) == [True] * 6
    assert await counts(store) == {
        JobState.SUCCEEDED: 1,
        JobState.RETRYING: 1,
        JobState.DEAD: 1,
        JobState.SCHEDULED: 1,
        JobState.READY: 2,  # the one handed back, and the follow-up
        JobState.CANCELLED: 1,
    }


async def test_a_strange_cause_of_a_loss(gateway: LocalGateway, store: Store) -> None:
    worker = await open_worker(gateway)
    await store.submit([new_job()])
    await gateway.claim(claim_ask(worker))
    assert await gateway.child_died(worker, 0, _STRANGE) == 1


async def test_strange_text_in_lines_and_progress(gateway: LocalGateway, store: Store) -> None:
    worker = await open_worker(gateway)
    await store.submit([new_job()])
    [claimed] = await gateway.claim(claim_ask(worker))
    lines = [
        log_line(claimed, 1),
        log_line(claimed, 2, message=_STRANGE, level=_STRANGE, fields='{"a":"\\u0000"}'),
        log_line(claimed, 3, message=_STRANGE),
    ]
    await gateway.append_logs(lines)
    kept = await store.list_logs(claimed.job_id, after=None, limit=9)
    assert [line.sequence for line in kept] == [1, 2, 3]
    held = [(claimed.job_id, claimed.attempt)]
    nan = float("nan")
    for told in (progress(claimed, 1, note=_STRANGE), progress(claimed, nan, total=nan)):
        assert (await gateway.pulse(worker, held, [told])).lost == ()
