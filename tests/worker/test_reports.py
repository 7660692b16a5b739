"""When outcomes are sent: fifty together, after 100 ms, or at once when nothing else runs."""

import asyncio
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from typing import Any, cast

import pytest

from mainspring.domain.errors import ConnectionFailed, SessionLost
from mainspring.domain.outcome import LogLine, Report, Succeeded
from mainspring.ports.gateway import WorkerGateway
from mainspring.worker import reports
from mainspring.worker.logs import LogBuffer
from mainspring.worker.reports import (
    BATCH_MAX,
    FLUSH_REPORTS,
    FLUSH_SECONDS,
    LARGE_BYTES,
    LARGE_UNSENT_MAX,
    UNSENT_MAX,
    Reporter,
)

PATIENCE_SECONDS = 20.0


class Recorder:
    """The receiving side: what came in one call, and whether it answers."""

    def __init__(self) -> None:
        self.batches: list[list[bytes]] = []
        self.failures: list[Exception] = []
        self._moved = asyncio.Event()

    async def report(self, reports: Sequence[Report]) -> list[bool]:
        if self.failures:
            raise self.failures.pop(0)
        self.batches.append([report.job_id for report in reports])
        self._moved.set()
        return [True] * len(reports)

    async def append_logs(self, lines: Sequence[LogLine]) -> None:
        raise AssertionError("nobody wrote a line")

    async def until(self, condition: Callable[[], object]) -> None:
        async with asyncio.timeout(PATIENCE_SECONDS):
            while not condition():
                await self._moved.wait()
                self._moved.clear()


@asynccontextmanager
async def reporting(recorder: Recorder) -> AsyncIterator[Reporter]:
    reporter = Reporter(cast("WorkerGateway", recorder), LogBuffer())
    running = asyncio.create_task(reporter.run())
    await asyncio.sleep(0)
    try:
        yield reporter
    finally:
        running.cancel()
        await asyncio.wait([running])


def add(reporter: Reporter, numbers: range, *, is_last: bool = False) -> list[bytes]:
    ids = [number.to_bytes(16, "big") for number in numbers]
    for job_id in ids:
        reporter.add(job_id, 1, Succeeded(), is_last=is_last)
    return ids


async def turns(count: int = 20) -> None:
    """Let everything go on that could."""
    for _ in range(count):
        await asyncio.sleep(0)


@pytest.fixture
def never(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing is sent for the time that has passed."""
    monkeypatch.setattr(reports, "FLUSH_SECONDS", 3_600.0)


def test_the_bounds_are_those_that_are_promised() -> None:
    assert (FLUSH_REPORTS, FLUSH_SECONDS) == (50, 0.1)


@pytest.mark.usefixtures("never")
async def test_the_last_one_that_ran_is_sent_at_once() -> None:
    recorder = Recorder()
    async with reporting(recorder) as reporter:
        waiting = add(reporter, range(3))
        await turns()
        assert recorder.batches == []
        waiting += add(reporter, range(3, 4), is_last=True)
        await recorder.until(lambda: recorder.batches)
    assert recorder.batches == [waiting]


@pytest.mark.usefixtures("never")
async def test_fifty_are_sent_at_once() -> None:
    recorder = Recorder()
    async with reporting(recorder) as reporter:
        waiting = add(reporter, range(FLUSH_REPORTS - 1))
        await turns()
        assert recorder.batches == []
        waiting += add(reporter, range(FLUSH_REPORTS - 1, FLUSH_REPORTS))
        await recorder.until(lambda: recorder.batches)
    assert recorder.batches == [waiting]


async def test_fewer_are_sent_when_their_time_has_come() -> None:
    recorder = Recorder()
    async with reporting(recorder) as reporter:
        waiting = add(reporter, range(3))
        await turns()
        assert recorder.batches == []
        await recorder.until(lambda: recorder.batches)
    assert recorder.batches == [waiting]


@pytest.mark.usefixtures("never")
async def test_a_crowd_is_sent_in_bounded_batches() -> None:
    recorder = Recorder()
    async with reporting(recorder) as reporter:
        ids = add(reporter, range(BATCH_MAX + 5))
        assert await reporter.emptied(PATIENCE_SECONDS)
    assert recorder.batches == [ids[:BATCH_MAX], ids[BATCH_MAX:]]


@pytest.mark.usefixtures("never")
async def test_what_was_not_taken_is_sent_again() -> None:
    recorder = Recorder()
    recorder.failures.append(ConnectionFailed("away"))
    async with reporting(recorder) as reporter:
        ids = add(reporter, range(2), is_last=True)
        await recorder.until(lambda: recorder.batches)
    assert recorder.batches == [ids]


async def test_a_lost_session_ends_the_reports() -> None:
    recorder: Any = Recorder()
    recorder.failures.append(SessionLost())
    reporter = Reporter(recorder, LogBuffer())
    add(reporter, range(1), is_last=True)
    with pytest.raises(SessionLost):
        await asyncio.wait_for(reporter.run(), PATIENCE_SECONDS)


class Gated(Recorder):
    """An object store is away: what needs it is not answered until it is back."""

    def __init__(self) -> None:
        super().__init__()
        self.is_back = asyncio.Event()

    async def report(self, reports: Sequence[Report]) -> list[bool]:
        if any(getattr(report.outcome, "result", None) for report in reports):
            await self.is_back.wait()
        return await super().report(reports)


async def test_nobody_waits_for_a_large_result() -> None:
    recorder = Gated()
    async with reporting(recorder) as reporter:
        large = b"x" * (LARGE_BYTES + 1)
        reporter.add(b"large", 1, Succeeded(large), is_last=True)
        await turns()
        ids = add(reporter, range(3), is_last=True)
        await recorder.until(lambda: recorder.batches)
        assert recorder.batches == [ids]
        assert not await reporter.emptied(0.01)
        recorder.is_back.set()
        assert await reporter.emptied(PATIENCE_SECONDS)
    assert recorder.batches == [ids, [b"large"]]


@pytest.mark.parametrize(("size", "most"), [(1, UNSENT_MAX), (LARGE_BYTES + 1, LARGE_UNSENT_MAX)])
async def test_what_is_under_way_counts_as_unsent(size: int, most: int) -> None:
    recorder = Gated()
    async with reporting(recorder) as reporter:
        for number in range(most):
            reporter.add(number.to_bytes(16, "big"), 1, Succeeded(b"x" * size), is_last=False)
        await turns()
        assert not reporter.is_choked()
        reporter.add(b"one more", 1, Succeeded(b"x" * size), is_last=True)
        await turns()
        assert reporter.is_choked()
        recorder.is_back.set()
        assert await reporter.emptied(PATIENCE_SECONDS)
        assert not reporter.is_choked()
