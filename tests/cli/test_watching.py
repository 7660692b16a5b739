"""The story of one job, told from snapshots that are taken one after the other."""

from datetime import UTC, datetime, timedelta
from typing import cast

import msgspec
import pytest

from mainspring.cli.live import LiveLog
from mainspring.cli.options import Options
from mainspring.cli.watching import Watcher
from mainspring.domain.job import AttemptView, JobView
from mainspring.domain.states import AttemptState, JobState
from mainspring.ports.gateway import ClientGateway
from mainspring.runtime.setting_table import Settings

_THEN = datetime(2027, 3, 14, tzinfo=UTC)
_RUNNING = JobView(
    id=b"j" * 16,
    kind="doomed",
    tenant="default",
    queue="default",
    priority=2,
    state=JobState.RUNNING,
    due_at=_THEN,
    created_at=_THEN,
    attempt=1,
    tries=1,
    crashes=0,
    max_attempts=1,
    max_crashes=3,
    timeout_ms=1_000,
    payload=b"{}",
)
_FAILED = AttemptView(
    job_id=_RUNNING.id,
    attempt=1,
    state=AttemptState.FAILED,
    worker_id=None,
    started_at=_THEN,
    ended_at=_THEN + timedelta(seconds=1),
    reason="it failed",
)


class Hasty:
    """Closes the attempt between the look at the job and the look at its attempts."""

    async def get_job(self, job_id: bytes) -> JobView:
        return _RUNNING

    async def list_attempts(self, job_id: bytes) -> list[AttemptView]:
        return [_FAILED]

    async def wait_for_change(
        self, job_id: bytes, seen: JobView | None, timeout_seconds: float
    ) -> JobView:
        return msgspec.structs.replace(_RUNNING, state=JobState.DEAD, finished_at=_THEN)


async def test_what_follows_an_attempt_is_told_when_it_is_known(
    capsys: pytest.CaptureFixture[str],
) -> None:
    await Watcher(cast("ClientGateway", Hasty()), _RUNNING.id, Options()).until_end(None)
    told = capsys.readouterr().err
    assert "attempt 1/1 failed: it failed   -> dead letter" in told
    assert "retry now" not in told


async def test_dev_waits_for_it_too() -> None:
    second = msgspec.structs.replace(_RUNNING, attempt=2, tries=2, max_attempts=2)
    dead = msgspec.structs.replace(second, state=JobState.DEAD, finished_at=_THEN)
    gateway = cast("ClientGateway", HastyAgain())
    log = LiveLog(Options(), Settings(), first_command="", tours=False, ends_after_tour=False)
    await log._tell(gateway, second, None)
    await log._tell(gateway, dead, second)
    told = "\n".join(log._lines)
    assert "attempt 2/2 failed" in told
    assert "-> dead letter" in told
    assert "retry now" not in told


class HastyAgain(Hasty):
    async def list_attempts(self, job_id: bytes) -> list[AttemptView]:
        return [_FAILED, msgspec.structs.replace(_FAILED, attempt=2)]
