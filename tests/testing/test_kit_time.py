"""The clock of a test moves delays, back-off, leases and retention, and nothing else does."""

from collections import Counter
from datetime import UTC, datetime, timedelta
from itertools import pairwise
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mainspring import App, Context, Retry, backoff
from mainspring.domain.errors import InvalidDuration, InvalidInput, NaiveDatetime
from mainspring.domain.states import JobState
from mainspring.testing.kit import Kit
from tests.testing import shop

START = datetime(2027, 1, 31, 9, tzinfo=UTC)
MINUTE = timedelta(minutes=1)


def kit_with(app: App) -> Kit:
    return Kit(app, start=START)


def test_a_delay_is_over_to_the_millisecond(mainspring: Kit) -> None:
    shop.send.options(delay="10m").submit("ada")
    mainspring.advance("599999ms")
    assert not mainspring.drain()
    mainspring.advance("1ms")
    assert mainspring.drain().succeeded == 1


def test_advance_alone_runs_nothing(mainspring: Kit) -> None:
    handle = shop.send.options(delay="10m").submit("ada")
    assert mainspring.advance("1h").attempts == 0
    assert mainspring.job(handle).state == "ready"


def test_what_falls_due_on_the_way_is_run_at_its_own_instant() -> None:
    app = App("clock")
    seen: list[datetime] = []

    @app.job()
    def tick(ctx: Context) -> None:
        seen.append(ctx.started_at)

    with kit_with(app) as kit:
        for minutes in (30, 10, 20):
            tick.options(delay=timedelta(minutes=minutes)).submit()
        assert kit.advance("25m", drain=True).succeeded == 2
        assert kit.advance("25m", drain=True).succeeded == 1
        assert seen == [START + n * 10 * MINUTE for n in (1, 2, 3)]
        assert kit.now == START + 50 * MINUTE


def test_back_off_grows_by_the_clock() -> None:
    app = App("flaky")
    seen: list[datetime] = []

    @app.job(retry=Retry(max_attempts=4))
    def flaky(ctx: Context) -> int:
        seen.append(ctx.started_at)
        if ctx.tries < 4:
            raise OSError("away")
        return ctx.tries

    with kit_with(app) as kit:
        handle = flaky.submit()
        result = kit.advance("1h", drain=True)
        assert (result.failed, result.retried, result.succeeded) == (3, 3, 1)
        assert handle.result() == 4
    waits = [after - before for before, after in pairwise(seen)]
    assert waits == [timedelta(seconds=seconds) for seconds in (1, 2, 4)]


def test_the_dice_lengthen_the_back_off(mainspring: Kit) -> None:
    mainspring.dice = 0.5
    mainspring.fail_next(shop.send, OSError)
    handle = shop.send.submit("ada")
    mainspring.drain()
    assert mainspring.job(handle).delay == timedelta(milliseconds=1_150)


@pytest.mark.parametrize(("dice", "waits"), [(None, [2, 4]), (0.0, [0, 0]), (0.5, [1, 2])])
def test_full_jitter_is_none_unless_the_dice_say_so(dice: float | None, waits: list[int]) -> None:
    app = App("jittery")
    seen: list[datetime] = []

    @app.job(retry=Retry(max_attempts=3, wait=backoff.exponential("2s", jitter="full")))
    def flaky(ctx: Context) -> None:
        seen.append(ctx.started_at)
        raise OSError("away")

    with kit_with(app) as kit:
        kit.dice = dice
        flaky.submit()
        kit.advance("1h", drain=True)
    assert [(after - before).total_seconds() for before, after in pairwise(seen)] == waits


def test_jitter_of_recovered_attempts_is_none_as_well() -> None:
    app = App("slow")

    @app.job(timeout="1s", retry=Retry(wait=backoff.fixed("1m", jitter="full")))
    def slow() -> None: ...

    with kit_with(app) as kit:
        kit.lose(slow)
        handle = slow.submit()
        kit.drain()
        kit.advance("12s")
        assert kit.job(handle).due_at == START + timedelta(seconds=71, microseconds=1)


def test_the_next_instant_is_known(mainspring: Kit) -> None:
    assert mainspring.next_at() is None
    shop.send.options(delay="10m").submit("ada")
    due = mainspring.now + 10 * MINUTE
    assert mainspring.next_at() == due
    mainspring.advance_to(due)
    assert mainspring.next_at() == mainspring.now
    mainspring.drain()
    assert mainspring.next_at() is None


def test_retention_drops_what_is_old(mainspring: Kit) -> None:
    done = shop.send.submit("ada")
    shop.signal.submit("fail")
    mainspring.drain()
    mainspring.advance("6d")
    assert len(mainspring.jobs()) == 2
    mainspring.advance("2d")
    assert [job.state for job in mainspring.jobs()] == ["dead"]
    assert mainspring.submitted(shop.send) == []
    assert mainspring.assert_submitted(shop.send, "ada").reason == "dropped_by_retention"
    mainspring.advance("90d")
    assert mainspring.jobs() == []
    assert done.created


def test_a_submission_key_is_forgotten_in_time(mainspring: Kit) -> None:
    first = shop.send.options(key="hello").submit("ada")
    mainspring.drain()
    mainspring.advance("23h")
    assert shop.send.options(key="hello").submit("ada").id == first.id
    mainspring.advance("48h")
    assert shop.send.options(key="hello").submit("ada").created


def test_a_month_of_hours() -> None:
    app = App("month")
    hours: list[int] = []

    @app.job(retry=Retry(max_attempts=3))
    def hourly(ctx: Context, hour: int) -> None:
        if hour % 5 == 0 and ctx.tries == 1:
            raise OSError("away")
        hours.append(hour)
        hourly.options(delay="1h").submit(hour + 1)

    with kit_with(app) as kit:
        hourly.submit(0)
        ended: Counter[str] = Counter()
        for _ in range(30):
            kit.lose(hourly, when="start")
            result = kit.advance("1d", drain=True)
            ended.update(lost=result.lost, failed=result.failed, succeeded=result.succeeded)
        assert kit.now == START + timedelta(days=30)
        # Back-off and leases took 10 minutes of it: the last hour has not come.
        assert hours == list(range(720))
        # Every fifth fails once, but for those 6 whose first try was the lost one.
        assert ended == {"lost": 30, "failed": 138, "succeeded": 720}


@given(delays=st.lists(st.integers(0, 5_000), max_size=8), step=st.integers(100, 3_000))
def test_however_the_clock_moves_everything_runs_once_and_in_time(
    delays: list[int], step: int
) -> None:
    app = App("any")
    seen: list[tuple[int, datetime]] = []

    @app.job()
    def note(ctx: Context, delay: int) -> None:
        seen.append((delay, ctx.started_at))

    with kit_with(app) as kit:
        for delay in delays:
            note.options(delay=timedelta(milliseconds=delay)).submit(delay)
        while kit.now < START + timedelta(seconds=5):
            kit.advance(timedelta(milliseconds=step), drain=True)
    assert seen == [(delay, START + timedelta(milliseconds=delay)) for delay in sorted(delays)]


def test_the_clock_begins_now_in_whole_seconds() -> None:
    before = datetime.now(UTC)
    with Kit() as kit:
        assert kit.now.microsecond == 0
        assert abs(kit.now - before) < MINUTE


def test_an_instant_of_another_zone_is_the_same_instant() -> None:
    with Kit(start=datetime.fromisoformat("2027-01-31T10:00:00+01:00")) as kit:
        assert kit.now == START


@pytest.mark.parametrize(
    ("wrong", "error", "words"),
    [
        ("-1s", InvalidDuration, "is negative"),
        (timedelta(seconds=-1), InvalidDuration, "is negative"),
        (60, InvalidDuration, "has no unit"),
        ("soon", InvalidDuration, "is not a duration"),
        ("99999999w", InvalidInput, "beyond the calendar"),
        ("60000d", InvalidInput, "more than 50 years ahead"),
    ],
)
def test_a_wrong_duration_is_named(
    mainspring: Kit, wrong: Any, error: type[Exception], words: str
) -> None:
    before = mainspring.now
    with pytest.raises(error, match=words):
        mainspring.advance(wrong)
    assert mainspring.now == before


@pytest.mark.parametrize(
    ("wrong", "error", "words"),
    [
        (START - timedelta(microseconds=1), InvalidInput, "is before .* where the clock stands"),
        (START.replace(tzinfo=None), NaiveDatetime, "has no time zone"),
        ("2027-02-01", InvalidInput, "is not a datetime"),
    ],
)
def test_a_wrong_instant_is_named(wrong: Any, error: type[Exception], words: str) -> None:
    with Kit(start=START) as kit, pytest.raises(error, match=words):
        kit.advance_to(wrong)


@pytest.mark.parametrize(
    ("wrong", "error"),
    [(START.replace(tzinfo=None), NaiveDatetime), ("2027-01-31", InvalidInput)],
)
def test_a_wrong_start_is_named(wrong: Any, error: type[Exception]) -> None:
    with pytest.raises(error, match="start"):
        Kit(start=wrong)


async def test_the_same_on_the_loop(mainspring: Kit) -> None:
    await shop.wait.options(delay="10m").asubmit()
    assert (await mainspring.aadvance("9m")).attempts == 0
    assert (await mainspring.aadvance_to(mainspring.now + MINUTE)).attempts == 0
    await shop.wait.options(delay="1h").asubmit()
    assert (await mainspring.aadvance("2h", drain=True)).succeeded == 2


def test_operations_go_on_with_the_clock_at_their_rate(mainspring: Kit) -> None:
    handles = [shop.send.options(delay="10h").submit(f"n{number}") for number in range(3)]
    op = mainspring.client.operations.start("cancel", "kind:send", rate="1/m")
    assert op.goal == 3
    for cancelled in (1, 2, 3):
        mainspring.advance("1m")
        states = [mainspring.job(handle).state for handle in handles]
        assert states.count(JobState.CANCELLED) == cancelled
    assert mainspring.client.operations.get(op).state == "done"
