"""Jobs run for real: in both modes, from both kinds of tests, with what they depend on."""

import asyncio
from pathlib import Path
from typing import Any

import pytest

from mainspring import App, DuplicateJob, JobDead, JobFailed
from mainspring.domain.errors import (
    Conflict,
    InvalidInput,
    LimitReached,
    UnknownKind,
    UnknownOption,
)
from mainspring.testing.kit import Kit
from tests.testing import shop
from tests.testing.shop import Bank


def test_jobs_rest_until_they_are_drained(mainspring: Kit) -> None:
    handle = shop.send.submit("ada")
    assert mainspring.job(handle).state == "ready"
    result = mainspring.drain()
    assert result.succeeded == 1
    assert result.dead == []
    assert handle.result() == 3


def test_a_result_that_nothing_brings_says_what_is_missing(mainspring: Kit) -> None:
    with pytest.raises(Conflict, match="is ready, and nothing runs it") as ready:
        shop.send.submit("ada").result()
    assert "drain()" in ready.value.hint
    with pytest.raises(Conflict, match="is scheduled, and nothing runs it") as scheduled:
        shop.send.options(delay="1h").submit("ada").result(timeout="1m")
    assert "advance" in scheduled.value.hint


async def test_the_same_from_an_async_test(mainspring: Kit) -> None:
    handle = await shop.wait.asubmit()
    with pytest.raises(Conflict, match="nothing runs it"):
        await handle.aresult()
    assert (await mainspring.adrain()).succeeded == 1
    assert await handle.aresult() == "waited"


def test_inline_runs_at_once(mainspring: Kit) -> None:
    mainspring.mode = "inline"
    assert shop.send.submit("ada").result() == 3
    assert shop.wait.submit().result() == "waited"


async def test_inline_in_async_tests(mainspring: Kit) -> None:
    with mainspring.inline():
        assert await (await shop.wait.asubmit()).aresult() == "waited"
        assert await (await shop.send.asubmit("ada")).aresult() == 3
        # A blocking call on the loop stops the loop; the job runs beside it.
        assert shop.wait.submit().result() == "waited"
    assert mainspring.mode == "manual"


def test_inline_keeps_what_is_not_due(mainspring: Kit) -> None:
    with mainspring.inline():
        handle = shop.send.options(delay="5m").submit("ada")
        assert mainspring.job(handle).state == "scheduled"
        assert mainspring.advance("5m").succeeded == 1


def test_errors_are_settled_as_in_production(mainspring: Kit) -> None:
    with mainspring.inline():
        handle = shop.signal.submit("other")
    assert mainspring.job(handle).state == "retrying"
    error = mainspring.job(handle).error
    assert error is not None
    assert error.type == "SystemExit"


def test_errors_are_raised_for_who_asks(mainspring: Kit) -> None:
    handle = shop.charge.submit(1)
    mainspring.fail_next(shop.charge, OSError("bank is away"))
    with pytest.raises(OSError, match="bank is away"):
        mainspring.drain(raise_errors=True)
    assert mainspring.job(handle).state == "retrying"
    mainspring.fail_next(shop.send, OSError("mail is away"))
    with mainspring.inline(raise_errors=True), pytest.raises(OSError, match="mail is away"):
        shop.send.submit("ada")


def test_an_outcome_of_pytest_is_for_the_test(mainspring: Kit) -> None:
    mainspring.fail_next(shop.send, pytest.fail.Exception("seen by the test"))
    handle = shop.send.submit("ada")
    with pytest.raises(pytest.fail.Exception, match="seen by the test"):
        mainspring.drain()
    assert mainspring.job(handle).state == "ready"


@pytest.mark.parametrize(
    ("name", "state", "reason", "delay_seconds"),
    [
        ("fail", "dead", "failed_permanently", 0),
        ("later", "retrying", "retry_asked", 90),
        ("snooze", "scheduled", "snoozed", 600),
    ],
)
def test_signals(mainspring: Kit, name: str, state: str, reason: str, delay_seconds: int) -> None:
    handle = shop.signal.submit(name)
    mainspring.drain()
    job = mainspring.job(handle)
    assert (job.state, job.reason) == (state, reason)
    assert job.delay.total_seconds() == delay_seconds


def test_the_lifespan_is_entered_once_and_left_with_the_kit() -> None:
    shop.opened.clear()
    with Kit(shop.app) as kit:
        handles = [shop.charge.submit(number) for number in range(2)]
        kit.drain()
        kit.drain()
        assert handles[1].result() == "real took 1 EUR"
        assert shop.opened == ["open"]
    assert shop.opened == ["open", "closed"]


async def test_on_the_loop_the_lifespan_lasts_for_one_drain(mainspring: Kit) -> None:
    shop.opened.clear()
    handle = await shop.charge.asubmit(1)
    await mainspring.adrain()
    assert await handle.aresult() == "real took 1 EUR"
    assert shop.opened == ["open", "closed"]


def test_dependencies_may_be_a_tests_own(mainspring: Kit) -> None:
    shop.opened.clear()
    mainspring.deps = fake = Bank("fake", [])
    handle = shop.charge.submit(4, currency="USD")
    mainspring.drain()
    assert handle.result() == "fake took 4 USD"
    assert fake.charged == [4]
    assert shop.opened == []


async def test_what_handlers_leave_on_the_loop_is_cancelled() -> None:
    app = App("careless")
    ended: list[str] = []
    kept: list[asyncio.Task[None]] = []

    async def linger() -> None:
        try:
            await asyncio.sleep(3_600)
        finally:
            ended.append("cancelled")

    @app.job()
    async def careless() -> None:
        kept.append(asyncio.create_task(linger()))
        await asyncio.sleep(0)

    with Kit(app, mode="inline"):
        careless.submit()
        assert ended == []
    assert ended == ["cancelled"]


def test_a_lifespan_that_fails_is_raised_and_loses_no_job() -> None:
    def broken() -> Any:
        raise OSError("no database")

    app = App("broken", lifespan=broken)

    @app.job()
    def work() -> None: ...

    with Kit(app) as kit:
        handle = work.submit()
        with pytest.raises(OSError, match="no database"):
            kit.drain()
        assert kit.job(handle).state == "ready"
        kit.deps = object()
        assert kit.drain().succeeded == 1


def test_what_is_submitted_inside_is_run_in_the_same_drain(mainspring: Kit) -> None:
    shop.chain.submit(5)
    assert mainspring.drain().succeeded == 6
    shop.achain.submit(5)
    assert mainspring.drain().succeeded == 6


async def test_what_is_submitted_inside_on_the_loop(mainspring: Kit) -> None:
    await shop.achain.asubmit(2)
    await shop.chain.asubmit(2)
    assert (await mainspring.adrain()).succeeded == 6


def test_a_handler_may_wait_for_what_it_submitted(mainspring: Kit) -> None:
    handle = shop.parent.submit()
    mainspring.drain()
    assert handle.result() == 6


async def test_a_handler_on_the_loop_may_wait_for_what_it_submitted(mainspring: Kit) -> None:
    handle = await shop.async_parent.asubmit()
    await mainspring.adrain()
    assert await handle.aresult() == "waited by its parent"


def test_a_blocking_wait_for_an_async_job_inside_an_async_handler_is_told(
    mainspring: Kit,
) -> None:
    app = App("blocking")

    @app.job()
    async def impatient() -> str:
        return shop.wait.submit().result()

    mainspring.install(app)
    handle = impatient.submit()
    mainspring.drain()
    error = mainspring.job(handle).error
    assert error is not None
    assert "cannot be run from inside another one" in error.message


async def test_a_test_that_is_cancelled_hands_back_what_runs(mainspring: Kit) -> None:
    app = App("endless")

    @app.job()
    async def endless() -> None:
        draining.cancel()
        await asyncio.sleep(3_600)

    mainspring.install(app)
    handle = await endless.asubmit()
    draining = asyncio.create_task(mainspring.adrain())
    with pytest.raises(asyncio.CancelledError):
        await draining
    assert mainspring.job(handle).state == "ready"


def test_a_job_that_never_ends_is_told(mainspring: Kit) -> None:
    shop.forever.submit()
    with pytest.raises(LimitReached, match="20 attempts were run and more is due"):
        mainspring.drain(limit=20)


def test_a_limit_that_is_just_enough_is_none(mainspring: Kit) -> None:
    shop.send.submit("ada")
    assert mainspring.drain(limit=1).succeeded == 1


def test_a_drain_of_some(mainspring: Kit) -> None:
    shop.send.submit("ada")
    shop.wait.submit()
    shop.chain.submit(0)
    assert [job.kind for job in mainspring.drain(shop.wait).jobs] == ["wait"]
    assert [job.kind for job in mainspring.drain(queue="mail").jobs] == ["send"]
    assert [job.kind for job in mainspring.drain().jobs] == ["chain"]


def test_the_most_urgent_comes_first(mainspring: Kit) -> None:
    for name, priority in (("a", "low"), ("bb", "critical"), ("ccc", "normal")):
        shop.send.options(priority=priority).submit(name)
    assert [job.args["to"] for job in mainspring.drain().jobs] == ["bb", "ccc", "a"]


def test_context_variables_do_not_leak(mainspring: Kit) -> None:
    handles = [shop.leak.submit() for _ in range(2)]
    mainspring.drain()
    assert [handle.result() for handle in handles] == ["clean", "clean"]
    assert shop.flag.get() == "clean"


def test_large_payloads_and_results_lie_elsewhere_and_are_shown(mainspring: Kit) -> None:
    text = "ada" * 60_000
    handle = shop.echo.submit(text)
    assert mainspring.job(handle).view.payload_ref is not None
    mainspring.assert_submitted(shop.echo, text)
    mainspring.drain()
    (found,) = mainspring.submitted(shop.echo)
    assert (found.args, found.result) == ({"text": text}, text)
    assert mainspring.jobs(shop.echo) == [found]
    assert handle.result() == text


def test_files_are_kept(mainspring: Kit, tmp_path: Path) -> None:
    (tmp_path / "report").write_text("42")
    handle = shop.publish.submit(str(tmp_path / "report"))
    mainspring.drain()
    assert handle.result().name == "report"


def test_progress_and_logs_are_kept(mainspring: Kit) -> None:
    handle = shop.resize.submit(3)
    mainspring.drain()
    job = mainspring.job(handle)
    assert (job.result, job.progress, job.note) == (3, 3.0, "resizing")
    assert [line.fields for line in mainspring.logs(handle)] == [
        '{"number":0}',
        '{"number":1}',
        '{"number":2}',
    ]
    assert {line.at for line in mainspring.logs(handle)} == {mainspring.now}


def test_stdlib_logging_is_kept_too(mainspring: Kit) -> None:
    handle = shop.send.submit("ada")
    mainspring.drain()
    assert [line.message for line in mainspring.logs(handle)] == ["sent to ada"]


def test_a_failed_job_is_raised_by_its_handle(mainspring: Kit) -> None:
    handle = shop.signal.submit("fail")
    mainspring.drain()
    with pytest.raises(JobDead, match="Fail: no") as dead:
        handle.result()
    assert isinstance(dead.value, JobFailed)


def test_a_duplicate_by_key_is_one_job(mainspring: Kit) -> None:
    first = shop.send.options(key="hello").submit("ada")
    second = shop.send.options(key="hello").submit("ada")
    assert (second.id, second.created) == (first.id, False)
    assert mainspring.drain().succeeded == 1
    mainspring.assert_submitted(shop.send, key="hello", times=2)
    assert len(mainspring.submitted(shop.send)) == 1


def test_unique_jobs_are_one_while_they_live(mainspring: Kit) -> None:
    once = shop.send.options(unique=True)
    first = once.submit("ada")
    assert once.submit("ada").id == first.id
    with pytest.raises(DuplicateJob):
        shop.send.options(unique=True, on_duplicate="reject").submit("ada")
    # What was refused was not submitted.
    mainspring.assert_submitted(shop.send, "ada", times=2)
    assert mainspring.drain().succeeded == 1
    assert once.submit("ada").created


def test_clients_are_of_the_same_world(mainspring: Kit) -> None:
    handle = mainspring.client.submit("send", {"to": "ada"}, delay="1h")
    assert mainspring.client.queues.pause("mail")
    mainspring.advance("1h")
    assert mainspring.drain().attempts == 0
    mainspring.client.queues.resume("mail")
    assert mainspring.drain().succeeded == 1
    assert mainspring.client.jobs.get(handle.id).state == "succeeded"


def test_code_that_connects_of_its_own_stays_in_the_test(mainspring: Kit) -> None:
    with shop.app.connect_sync("postgresql://nowhere/none") as client:
        client.submit(shop.send.call("ada"))
    mainspring.assert_submitted(shop.send, "ada")


async def test_async_code_that_connects_of_its_own(mainspring: Kit) -> None:
    async with shop.app.connect() as client:
        await client.submit(shop.send.call("ada"))
        await shop.wait.using(object()).asubmit()
    mainspring.assert_submitted(shop.send, "ada")
    mainspring.assert_submitted(shop.wait)


def test_several_apps_share_a_world(mainspring: Kit) -> None:
    other = App("other")

    @other.job()
    def count(upto: int) -> int:
        return upto

    mainspring.install(other)
    mainspring.use_deps(other, None)
    count.submit(3)
    shop.send.submit("ada")
    assert mainspring.drain().succeeded == 2


def test_a_handler_declared_later_is_known(mainspring: Kit) -> None:
    app = App("later")
    mainspring.install(app)

    @app.job()
    def late() -> str:
        return "in time"

    handle = late.submit()
    mainspring.drain()
    assert handle.result() == "in time"


def test_two_apps_with_one_kind_are_refused(mainspring: Kit) -> None:
    other = App("other")

    @other.job()
    def send() -> None: ...

    with pytest.raises(InvalidInput, match="'shop' and 'other' both have a handler of the kind"):
        mainspring.install(other)


def test_bad_input_is_named(mainspring: Kit) -> None:
    with pytest.raises(UnknownOption, match="mode: there is no 'inlined'") as mode:
        mainspring.mode = "inlined"
    assert "inline" in mode.value.hint
    with pytest.raises(
        UnknownKind, match="no installed app has a handler of the kind 'sendd'"
    ) as kind:
        mainspring.drain("sendd")
    assert "send" in kind.value.hint
    with pytest.raises(UnknownOption, match="state: there is no 'died'") as state:
        mainspring.jobs(state="died")
    assert "dead" in state.value.hint
    with pytest.raises(InvalidInput, match="is no job"):
        mainspring.submitted(len)
    with pytest.raises(InvalidInput, match="names no single job"):
        mainspring.job(shop.send)
    with pytest.raises(InvalidInput, match="is no App"):
        mainspring.install("shop")  # type: ignore[arg-type]  # on purpose
    with pytest.raises(InvalidInput, match="no handler is in 'mial'") as queue:
        mainspring.drain(queue="mial")
    assert "mail" in queue.value.hint
    with pytest.raises(InvalidInput, match="limit: 0 is not"):
        mainspring.drain(limit=0)
    with pytest.raises(InvalidInput, match="dice: 2 is not"):
        mainspring.dice = 2
