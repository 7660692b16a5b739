"""What was submitted, against what a test expects; and the words when the two differ."""

from datetime import UTC, datetime, timedelta
from typing import Any
from unittest.mock import ANY

import pytest

from mainspring import App
from mainspring.domain.errors import InvalidDuration, InvalidInput, InvalidPayload, NaiveDatetime
from mainspring.testing.kit import Kit
from tests.testing import shop


def words(kit: Kit, *args: object, **expected: object) -> str:
    with pytest.raises(AssertionError) as failed:
        kit.assert_submitted(shop.send, *args, **expected)  # type: ignore[arg-type]  # as it comes
    return str(failed.value)


def test_what_is_not_named_is_not_looked_at(mainspring: Kit) -> None:
    shop.charge.options(queue="slow", key="k").submit(1, currency="USD")
    mainspring.assert_submitted(shop.charge)
    mainspring.assert_submitted(shop.charge, 1)
    mainspring.assert_submitted(shop.charge, currency="USD", queue="slow")
    mainspring.assert_submitted("charge", order_id=1, key="k")
    mainspring.refute_submitted(shop.charge, 2)
    mainspring.refute_submitted(shop.charge, queue="default")
    mainspring.refute_submitted(shop.send)


def test_defaults_count_as_arguments(mainspring: Kit) -> None:
    shop.charge.submit(1)
    mainspring.assert_submitted(shop.charge, currency="EUR")
    mainspring.refute_submitted(shop.charge, currency="USD")


def test_every_option_is_compared(mainspring: Kit) -> None:
    options: dict[str, Any] = {
        "delay": "10m",
        "queue": "bulk",
        "priority": "low",
        "key": "k",
        "tenant": "acme",
        "effect_key": "e",
        "timeout": "20s",
        "max_attempts": 2,
    }
    shop.charge.options(**options).submit(1)
    mainspring.assert_submitted(shop.charge, **options)
    wrong = {
        "delay": "11m",
        "queue": "mail",
        "priority": "high",
        "key": "x",
        "tenant": "other",
        "effect_key": "x",
        "timeout": "21s",
        "max_attempts": 3,
    }
    for name, value in wrong.items():
        mainspring.refute_submitted(shop.charge, **{name: value})


def test_unique_keys_are_compared(mainspring: Kit) -> None:
    shop.charge.options(unique="order-1").submit(1)
    mainspring.assert_submitted(shop.charge, unique="order-1")
    mainspring.refute_submitted(shop.charge, unique="order-2")


def test_unique_may_be_told_as_it_was_asked(mainspring: Kit) -> None:
    shop.charge.options(unique=True).submit(1)
    shop.charge.options(unique=("order_id",)).submit(2)
    shop.charge.submit(3)
    mainspring.assert_submitted(shop.charge, 1, unique=True, times=1)
    mainspring.assert_submitted(shop.charge, unique=("order_id",), times=1)
    mainspring.assert_submitted(shop.charge, unique=False, times=1)
    mainspring.refute_submitted(shop.charge, 3, unique=True)


def test_a_call_stands_for_all_that_it_says(mainspring: Kit) -> None:
    at = datetime(2027, 1, 31, tzinfo=UTC)
    shop.send.options(delay="10m", priority="low").submit("ada", at=at)
    mainspring.assert_submitted(shop.send.call("ada", at=at).options(delay="10m", priority="low"))
    mainspring.assert_submitted(shop.send.call("ada"))
    mainspring.refute_submitted(shop.send.call("ada").options(delay="11m"))
    mainspring.refute_submitted(shop.send.call("bob"))
    mainspring.refute_submitted(shop.send.call("ada").options(at=mainspring.now))


def test_a_parameter_called_times(mainspring: Kit) -> None:
    app = App("clash")

    @app.job()
    def repeat(times: int) -> None: ...

    mainspring.install(app)
    repeat.submit(3)
    mainspring.assert_submitted(repeat, times=3)
    mainspring.refute_submitted(repeat, times=1)


def test_delay_and_at_are_two_ways_to_say_when(mainspring: Kit) -> None:
    at = mainspring.now + timedelta(minutes=10)
    shop.charge.options(at=at).submit(1)
    mainspring.assert_submitted(shop.charge, delay="10m")
    mainspring.assert_submitted(shop.charge, at=at)
    mainspring.advance("5m")
    mainspring.assert_submitted(shop.charge, at=at, delay=timedelta(minutes=10))


def test_a_parameter_named_like_an_option_is_the_parameter(mainspring: Kit) -> None:
    at = datetime(2027, 1, 31, tzinfo=UTC)
    shop.send.submit("ada", at=at)
    mainspring.assert_submitted(shop.send, at=at)
    mainspring.refute_submitted(shop.send, at=mainspring.now)


def test_a_value_without_a_type_is_compared_as_json(mainspring: Kit) -> None:
    at = datetime(2027, 1, 31, tzinfo=UTC)
    shop.send.submit("ada", body={"at": at, "n": (1, 2)})
    mainspring.assert_submitted(shop.send, body={"at": at, "n": (1, 2)})
    mainspring.refute_submitted(shop.send, body={"at": at})
    mainspring.assert_submitted(shop.send, body=ANY)


def test_times_counts_what_matches(mainspring: Kit) -> None:
    for name in ("ada", "ada", "bob"):
        shop.send.submit(name)
    mainspring.assert_submitted(shop.send, times=3)
    mainspring.assert_submitted(shop.send, "ada", times=2)
    assert words(mainspring, "ada", times=1) == (
        "send(to='ada') was submitted 2 times, expected once:\n"
        "  send(to='ada') with queue='mail', priority=high\n"
        "  send(to='ada') with queue='mail', priority=high"
    )
    assert words(mainspring, "eve", times=1).startswith("send(to='eve') was not submitted")


def test_the_job_is_returned(mainspring: Kit) -> None:
    shop.send.submit("ada")
    found = mainspring.assert_submitted(shop.send)
    assert (found.state, found.args, found.priority) == ("ready", {"to": "ada"}, "high")


def test_nothing_at_all(mainspring: Kit) -> None:
    assert words(mainspring, "ada") == "send(to='ada') was not submitted; nothing was"


def test_only_others(mainspring: Kit) -> None:
    shop.charge.submit(1)
    shop.charge.submit(2)
    shop.wait.submit()
    assert words(mainspring, "ada") == (
        "send(to='ada') was not submitted; no send was. Submitted: charge x 2, wait x 1"
    )


def test_the_nearest_comes_first(mainspring: Kit) -> None:
    shop.send.submit("bob")
    shop.send.options(delay="10m").submit("ada")
    assert words(mainspring, "ada", delay="10m", queue="bulk") == (
        "send(to='ada') with delay=10 m, queue='bulk' was not submitted\n"
        "2 of send were:\n"
        "  send(to='ada') with delay=10 m, queue='mail', priority=high\n"
        "    queue: 'mail', expected 'bulk'\n"
        "  send(to='bob') with queue='mail', priority=high\n"
        "    to: 'bob', expected 'ada'\n"
        "    delay: none, expected 10 m\n"
        "    queue: 'mail', expected 'bulk'"
    )


def test_many_are_cut_short(mainspring: Kit) -> None:
    for number in range(15):
        shop.send.submit(f"n{number}")
    assert words(mainspring, "ada").endswith("  and 5 more")


def test_a_new_chapter(mainspring: Kit) -> None:
    shop.send.submit("ada")
    mainspring.forget_submitted()
    mainspring.refute_submitted(shop.send)
    assert mainspring.submitted(shop.send) == []
    assert len(mainspring.jobs(shop.send)) == 1


def test_jobs_are_found_by_kind_state_and_queue(mainspring: Kit) -> None:
    shop.send.submit("ada")
    shop.charge.options(delay="1h").submit(1)
    assert [job.kind for job in mainspring.jobs()] == ["send", "charge"]
    assert [job.kind for job in mainspring.jobs(queue="mail")] == ["send"]
    assert [job.kind for job in mainspring.jobs(state="scheduled")] == ["charge"]
    assert [job.kind for job in mainspring.jobs(shop.send, state="scheduled")] == []


def test_what_can_never_match_is_refused(mainspring: Kit) -> None:
    shop.send.submit("ada")
    with pytest.raises(InvalidPayload, match="no parameter and no option 'dealy'") as wrong:
        mainspring.assert_submitted(shop.send, dealy="10m")
    assert "delay" in wrong.value.hint
    with pytest.raises(InvalidPayload, match="too many positional arguments") as wrong:
        mainspring.assert_submitted(shop.charge, 1, "EUR", "x")
    assert "charge(order_id: int" in wrong.value.hint
    with pytest.raises(InvalidDuration, match="delay: 600 has no unit"):
        mainspring.assert_submitted(shop.send, delay=600)
    with pytest.raises(NaiveDatetime, match=r"at: .* has no time zone"):
        mainspring.assert_submitted(shop.charge, at=datetime(2027, 1, 31))  # noqa: DTZ001 - on purpose
    with pytest.raises(InvalidInput, match="priority: there is no 'urgent'"):
        mainspring.refute_submitted(shop.send, priority="urgent")
