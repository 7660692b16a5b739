"""What may go wrong in production may go wrong in a test, when it says so."""

from collections.abc import Iterator
from contextlib import contextmanager
from datetime import timedelta

import pytest

from mainspring import App, Context, Fail, Failure, JobCancelled, Retry, RetryAfter, Snooze
from mainspring.domain.errors import InvalidInput, UnknownKind
from mainspring.domain.states import AttemptState
from mainspring.testing.kit import Kit
from tests.testing import shop


def attempts_of(kit: Kit, job: object) -> list[AttemptState]:
    return [attempt.state for attempt in kit.attempts(job)]


def test_a_failure_comes_instead_of_the_handler(mainspring: Kit) -> None:
    mainspring.deps = bank = shop.Bank("fake", [])
    mainspring.fail_next(shop.charge, OSError("bank is away"), times=2)
    handle = shop.charge.submit(1)
    result = mainspring.advance("1h", drain=True)
    assert (result.failed, result.retried, result.succeeded) == (2, 2, 1)
    assert bank.charged == [1]
    assert attempts_of(mainspring, handle) == ["failed", "failed", "succeeded"]


def test_a_failure_after_the_handler_leaves_its_effects(mainspring: Kit) -> None:
    mainspring.deps = bank = shop.Bank("fake", [])
    mainspring.fail_next(shop.charge, OSError("too late"), when="end")
    shop.charge.submit(1)
    mainspring.advance("1h", drain=True)
    assert bank.charged == [1, 1]


def test_a_failure_in_the_middle(mainspring: Kit) -> None:
    mainspring.fail_next(shop.resize, OSError("disk"), when=2)
    handle = shop.resize.submit(5)
    mainspring.drain()
    job = mainspring.job(handle)
    assert (job.state, job.progress) == ("retrying", 2.0)
    assert job.error is not None
    assert "resize" in job.error.traceback
    assert "suffer" not in job.error.where


def test_exhausted_attempts_go_dead_and_call_the_follow_up(mainspring: Kit) -> None:
    mainspring.deps = shop.Bank("fake", [])
    mainspring.fail_next(shop.charge, OSError("bank is away"), times=3)
    handle = shop.charge.submit(1)
    result = mainspring.advance("1h", drain=True)
    assert [job.id for job in result.dead] == [handle.id]
    assert result.dead[0].reason == "attempts_exhausted"
    found = mainspring.assert_submitted(shop.refund, queue="refunds")
    failure = found.args["failure"]
    assert isinstance(failure, Failure)
    assert (failure.job_id, failure.error_message) == (handle.id, "bank is away")
    assert found.result == "attempts_exhausted"


@pytest.mark.parametrize(
    ("error", "state", "delay"),
    [
        (Fail("no"), "dead", None),
        (RetryAfter("90s"), "retrying", timedelta(seconds=90)),
        (Snooze("10m"), "scheduled", timedelta(minutes=10)),
        (ValueError, "retrying", timedelta(seconds=1)),
    ],
)
def test_signals_may_be_planned(
    mainspring: Kit, error: Exception, state: str, delay: timedelta | None
) -> None:
    mainspring.fail_next(shop.send, error)
    handle = shop.send.submit("ada")
    mainspring.drain()
    assert mainspring.job(handle).state == state
    if delay is not None:
        assert mainspring.job(handle).delay == delay


def test_a_plan_may_be_for_one_job(mainspring: Kit) -> None:
    lucky, unlucky = shop.send.submit("a"), shop.send.submit("b")
    mainspring.fail_next(unlucky, Fail("no"))
    mainspring.drain()
    assert [mainspring.job(one).state for one in (lucky, unlucky)] == ["succeeded", "dead"]


def test_a_vanished_worker_keeps_its_job_until_its_lease_is_over(mainspring: Kit) -> None:
    mainspring.lose(shop.send)
    handle = shop.send.submit("ada")
    assert mainspring.drain().attempts == 0
    assert mainspring.job(handle).state == "running"
    mainspring.advance("15s")
    assert mainspring.job(handle).state == "running"
    result = mainspring.advance("1ms")
    assert result.lost == 1
    assert mainspring.job(handle).reason == "lease_expired"
    assert mainspring.drain().succeeded == 1
    assert attempts_of(mainspring, handle) == ["lost", "succeeded"]


def test_a_vanished_worker_has_done_the_work_or_not(mainspring: Kit) -> None:
    mainspring.deps = bank = shop.Bank("fake", [])
    mainspring.lose(shop.charge, when="start")
    shop.charge.submit(1)
    mainspring.drain()
    assert bank.charged == []
    mainspring.lose(shop.charge)
    mainspring.advance("1m", drain=True)
    mainspring.advance("1m", drain=True)
    assert bank.charged == [1, 1]


def test_a_worker_may_vanish_in_the_middle(mainspring: Kit) -> None:
    mainspring.lose(shop.resize, when=3)
    handle = shop.resize.submit(5)
    mainspring.drain()
    assert mainspring.job(handle).progress == 3.0
    assert [line.attempt for line in mainspring.logs(handle)] == [1, 1]
    mainspring.advance("1m", drain=True)
    assert handle.result() == 5


def test_a_handler_that_fails_as_its_worker_vanishes_is_lost(mainspring: Kit) -> None:
    mainspring.lose(shop.signal)
    handle = shop.signal.submit("fail")
    mainspring.drain()
    assert mainspring.job(handle).state == "running"


def test_a_deadline_before_the_lease_counts(mainspring: Kit) -> None:
    mainspring.lose(shop.send)
    handle = shop.send.options(timeout="1s").submit("ada")
    mainspring.drain()
    # The timeout, and ten seconds of grace.
    assert mainspring.advance("11s").timed_out == 0
    assert mainspring.advance("1ms").timed_out == 1
    assert attempts_of(mainspring, handle) == ["timed_out"]


def test_a_crash_is_seen_at_once(mainspring: Kit) -> None:
    mainspring.crash(shop.send)
    handle = shop.send.submit("ada")
    result = mainspring.drain()
    assert (result.lost, result.succeeded) == (1, 1)
    assert attempts_of(mainspring, handle) == ["lost", "succeeded"]


def test_a_job_that_always_crashes_is_poison(mainspring: Kit) -> None:
    mainspring.crash(shop.send, times=10, when="start")
    handle = shop.send.submit("ada")
    assert len(mainspring.drain().dead) == 1
    assert mainspring.job(handle).reason == "crashes_exhausted"


async def test_vanishing_and_crashing_on_the_loop(mainspring: Kit) -> None:
    mainspring.lose(shop.wait, when=1)
    mainspring.crash(shop.send)
    await shop.wait.asubmit()
    await shop.send.asubmit("ada")
    assert (await mainspring.adrain()).lost == 1
    assert (await mainspring.aadvance("1m", drain=True)).succeeded == 1


def test_an_overrun_timeout_is_tried_again(mainspring: Kit) -> None:
    mainspring.deps = bank = shop.Bank("fake", [])
    mainspring.time_out(shop.charge)
    handle = shop.charge.submit(1)
    result = mainspring.drain()
    assert (result.timed_out, result.retried) == (1, 1)
    assert bank.charged == []
    mainspring.advance("1h", drain=True)
    assert attempts_of(mainspring, handle) == ["timed_out", "succeeded"]


@pytest.mark.parametrize("job", [shop.resize.options().call(5), shop.wait.call()])
def test_a_handler_is_asked_to_stop_at_its_timeout(mainspring: Kit, job: object) -> None:
    mainspring.time_out(job, when=1)
    handle = job.submit()  # type: ignore[attr-defined]  # a call of either handler
    result = mainspring.drain()
    assert (result.timed_out, result.retried) == (1, 1)
    assert mainspring.job(handle).state == "retrying"


def test_a_handler_that_falls_silent_is_stopped(mainspring: Kit) -> None:
    mainspring.fall_silent(shop.wait, when=1)
    handle = shop.wait.submit()
    assert mainspring.drain().timed_out == 1
    assert mainspring.job(handle).reason == "heartbeat_missed"


def test_middleware_surrounds_handlers_of_both_kinds() -> None:
    seen: list[str] = []

    @contextmanager
    def around(ctx: Context) -> Iterator[None]:
        seen.append(f"in {ctx.kind}")
        yield
        seen.append(f"out {ctx.kind}")

    app = App("wrapped", middleware=[around])

    @app.job()
    def plain() -> None: ...

    @app.job()
    async def awaited() -> None: ...

    with Kit(app) as kit:
        plain.submit()
        awaited.submit()
        assert kit.drain().succeeded == 2
    assert seen == ["in plain", "out plain", "in awaited", "out awaited"]


def test_time_that_passes_inside_a_handler_stops_it_at_its_timeout() -> None:
    app = App("slow")

    @app.job(timeout="30s")
    def slow(ctx: Context) -> int:
        for minute in range(10):
            ctx.raise_if_cancelled()
            kit.advance("20s", drain=False)
            assert minute < 2
        return 1

    with Kit(app) as kit:
        slow.submit()
        assert kit.drain().timed_out == 1


@pytest.mark.parametrize("when", ["start", 2])
def test_a_cancel_reaches_a_running_handler(mainspring: Kit, when: int | str) -> None:
    mainspring.cancel_next(shop.resize, when=when)  # type: ignore[arg-type]  # from a parameter
    handle = shop.resize.submit(5)
    result = mainspring.drain()
    assert result.cancelled == 1
    with pytest.raises(JobCancelled):
        handle.result()


async def test_a_cancel_reaches_a_handler_at_its_next_await(mainspring: Kit) -> None:
    mainspring.cancel_next(shop.wait, when=1)
    handle = await shop.wait.asubmit()
    assert (await mainspring.adrain()).cancelled == 1
    assert attempts_of(mainspring, handle) == ["cancelled"]


def test_a_handler_that_ignores_its_cancel_has_done_its_work(mainspring: Kit) -> None:
    mainspring.cancel_next(shop.send)
    handle = shop.send.submit("ada")
    assert mainspring.drain().succeeded == 1
    assert handle.result() == 3


def test_a_waiting_job_is_cancelled_at_once(mainspring: Kit) -> None:
    handle = shop.send.options(delay="1h").submit("ada")
    assert mainspring.cancel(handle, reason="not wanted") == "cancelled"
    assert mainspring.job(handle).reason == "not wanted"
    assert not mainspring.advance("2h", drain=True)


def test_a_dead_letter_comes_back(mainspring: Kit) -> None:
    mainspring.fail_next(shop.send, Fail("no"))
    handle = shop.send.submit("ada")
    mainspring.drain()
    assert mainspring.client.jobs.replay(handle.id)
    assert mainspring.drain().succeeded == 1


def test_retry_on_is_judged_as_declared() -> None:
    app = App("picky")

    @app.job(retry=Retry(on=(OSError,)))
    def picky() -> None: ...

    with Kit(app) as kit:
        kit.fail_next(picky, ValueError("not worth it"))
        picky.submit()
        assert len(kit.drain().dead) == 1


def test_bad_plans_are_named(mainspring: Kit) -> None:
    with pytest.raises(UnknownKind, match="'sned'"):
        mainspring.fail_next("sned", OSError)
    with pytest.raises(InvalidInput, match="is no exception"):
        mainspring.fail_next(shop.send, "OSError")  # type: ignore[arg-type]  # on purpose
    with pytest.raises(InvalidInput, match="times: 0 is not"):
        mainspring.lose(shop.send, times=0)
    with pytest.raises(InvalidInput, match="when: 'begin' is not"):
        mainspring.crash(shop.send, when="begin")  # type: ignore[arg-type]  # on purpose
    with pytest.raises(InvalidInput, match="when: 0 is not"):
        mainspring.crash(shop.send, when=0)
    with pytest.raises(InvalidInput, match="too late"):
        mainspring.cancel_next(shop.send, when="end")
