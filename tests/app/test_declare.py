import asyncio
import contextlib
from datetime import UTC, datetime, timedelta, timezone
from typing import Any

import msgspec
import pytest

from mainspring.app import backoff
from mainspring.app.context import Context
from mainspring.app.declare import App, Failure, Job
from mainspring.app.retries import Retry
from mainspring.app.signals import Fail, RetryAfter, Snooze
from mainspring.domain.errors import (
    InvalidDuration,
    InvalidInput,
    InvalidPayload,
    NaiveDatetime,
    UnknownOption,
)
from mainspring.domain.job import Backoff, Priority


@pytest.fixture
def app() -> App:
    return App("shop")


def test_defaults_are_those_of_the_product(app: App) -> None:
    @app.job()
    async def send(to: str) -> None:
        """Send one mail.

        And more words.
        """

    info = app.handlers["send"].info
    assert (info.kind, info.queue, info.priority) == ("send", "default", Priority.NORMAL)
    assert (info.max_attempts, info.max_crashes, info.timeout_ms) == (5, 3, 300_000)
    assert info.backoff is None
    assert info.on_exhausted is None
    assert (info.mode, info.doc) == ("async", "Send one mail.")
    assert msgspec.json.decode(info.schema)["$defs"]["SendPayload"]["required"] == ["to"]
    assert repr(app) == "<App shop with 1 handlers>"
    assert repr(send) == "<Job send>"


def test_every_option_reaches_the_handler(app: App) -> None:
    @app.job()
    def gave_up(failure: Failure) -> None: ...

    @app.job(
        kind="mail.send:v2",
        queue="mail",
        priority="high",
        retry=Retry(
            max_attempts=9,
            wait=backoff.exponential("2s", factor=3, cap=timedelta(minutes=1), jitter=0),
            max_crashes=1,
            on=(OSError,),
        ),
        timeout="90s",
        isolated=True,
        on_exhausted=gave_up,
    )
    async def send(to: str) -> None: ...

    handler = app.handlers["mail.send:v2"]
    info = handler.info
    assert (info.queue, info.priority, info.timeout_ms) == ("mail", Priority.HIGH, 90_000)
    assert (info.max_attempts, info.max_crashes) == (9, 1)
    assert info.backoff == Backoff(initial_ms=2_000, factor=3, cap_ms=60_000, jitter=0)
    assert (info.on_exhausted, info.mode, handler.mode) == ("gave_up", "process", "process")
    assert handler.is_permanent(ValueError())
    assert not handler.is_permanent(ConnectionError())
    wanted = send.call("a").submission
    assert wanted.kind_is_known
    assert wanted.declared == info
    assert (wanted.queue, wanted.timeout_ms) == (None, None)


def test_modes(app: App) -> None:
    async def on_loop() -> None: ...
    def in_thread() -> None: ...

    assert app.job()(on_loop).handler.mode == "async"
    assert app.job()(in_thread).handler.mode == "thread"


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"max_attempts": 0}, "max_attempts: 0 is not a whole number from 1 to 1000"),
        ({"max_attempts": 1_001}, "max_attempts: 1001 "),
        ({"max_attempts": 2.5}, "max_attempts: 2.5 "),
        ({"max_attempts": True}, "max_attempts: True "),
        ({"max_crashes": 0}, "max_crashes: 0 is not a whole number from 1 to 100"),
        ({"max_crashes": 101}, "max_crashes: 101 "),
        ({"wait": "10s"}, "wait: '10s' is no back-off"),
        ({"on": OSError}, "on: <class 'OSError'> is no tuple of exceptions"),
        ({"on": ("OSError",)}, "on: ('OSError',) is no tuple"),
    ],
)
def test_retry_options_out_of_range_are_refused_at_declaration(
    app: App, options: dict[str, Any], words: str
) -> None:
    with pytest.raises(InvalidInput) as caught:
        app.job(retry=Retry(**options))(lambda: None)
    assert "kind: '<lambda>' is not a name" in str(caught.value)
    with pytest.raises(InvalidInput) as caught:
        app.job(kind="k", retry=Retry(**options))(lambda: None)
    assert str(caught.value).startswith(words)
    assert app.handlers == {}


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"factor": 0.9}, "factor: 0.9 is not between 1 and 100"),
        ({"factor": 101}, "factor: 101 "),
        ({"factor": float("nan")}, "factor: nan "),
        ({"jitter": -0.1}, "jitter: -0.1 is neither between 0 and 1 nor"),
        ({"jitter": 1.1}, "jitter: 1.1 "),
        ({"jitter": "half"}, "jitter: 'half' "),
        ({"initial": "-1s"}, "initial: '-1s' is negative"),
        ({"initial": 5}, "initial: 5 has no unit"),
        ({"initial": "600w"}, "initial: 4200 d is not within 0 ms to 3650 d"),
        ({"cap": "soon"}, "cap: 'soon' is not a duration"),
        ({"cap": "99999w"}, "cap: 699993 d "),
    ],
)
def test_a_back_off_out_of_range_is_refused(options: dict[str, Any], words: str) -> None:
    with pytest.raises(InvalidInput) as caught:
        backoff.exponential(**options)
    assert str(caught.value).startswith(words)


def test_a_back_off_in_words() -> None:
    assert backoff.exponential() == Backoff()
    full = backoff.exponential("2s", cap="5m", jitter="full")
    assert full == Backoff(2_000, 2.0, 300_000, 1.0, full_jitter=True)
    assert backoff.fixed("10s") == Backoff(10_000, 1.0, 10_000, 0.0)


@pytest.mark.parametrize(
    ("options", "error", "words"),
    [
        ({"heartbeat": "500ms"}, InvalidInput, "heartbeat: 500 ms is not within 1 s to 7 d"),
        ({"heartbeat": 30}, InvalidDuration, "heartbeat: 30 has no unit"),
        ({"heartbeat": "6m"}, InvalidInput, "heartbeat: 6 m is longer than the timeout of 5 m"),
        ({"kind": "no spaces"}, InvalidInput, "kind: 'no spaces' is not a name"),
        ({"kind": "k" * 129}, InvalidInput, "kind: "),
        ({"queue": ""}, InvalidInput, "queue: '' is not a name"),
        ({"queue": "q" * 65}, InvalidInput, "queue: "),
        ({"priority": "urgent"}, UnknownOption, "priority: there is no 'urgent'"),
        ({"priority": 9}, UnknownOption, "priority: there is no 9"),
        ({"timeout": "0s"}, InvalidInput, "timeout: 0 ms is not within 1 ms to 7 d"),
        ({"timeout": "8d"}, InvalidInput, "timeout: 8 d "),
        ({"timeout": 30}, InvalidDuration, "timeout: 30 has no unit"),
        ({"on_exhausted": "no spaces"}, InvalidInput, "on_exhausted: 'no spaces' is not a name"),
        ({"on_exhausted": ""}, InvalidInput, "on_exhausted: '' is not a name"),
        ({"kind": ""}, InvalidInput, "kind: '' is not a name"),
        ({"kind": 0}, InvalidInput, "kind: 0 is not a name"),
        ({"isolated": "no"}, InvalidInput, "isolated: 'no' is neither True nor False"),
        ({"key": ""}, InvalidInput, "key: '' is not a key"),
        ({"key": "k" * 257}, InvalidInput, "key: 'kkk"),
        ({"effect_key": 5}, InvalidInput, "effect_key: 5 is not a key"),
        ({"unique": "a\0b"}, InvalidInput, "unique: 'a\\x00b' is not a key"),
        ({"tenant": "-x"}, InvalidInput, "tenant: '-x' is not a name"),
    ],
)
def test_other_options_are_refused_at_declaration(
    app: App, options: dict[str, Any], error: type[InvalidInput], words: str
) -> None:
    with pytest.raises(error) as caught:
        app.job(**{"kind": "k", **options})(lambda: None)
    assert str(caught.value).startswith(words)
    assert app.handlers == {}


def test_an_unknown_option_is_refused_with_the_nearest(app: App) -> None:
    with pytest.raises(UnknownOption, match="there is no option 'time_out'") as caught:
        app.job(time_out="3s")  # type: ignore[call-arg]  # wrong on purpose
    assert caught.value.hint == "did you mean timeout?"
    with pytest.raises(InvalidInput, match="retry: 3 is no Retry"):
        app.job(kind="k", retry=3)(lambda: None)  # type: ignore[arg-type]  # wrong on purpose


def test_an_app_is_declared_in_words_that_help(app: App) -> None:
    def work() -> None: ...

    with pytest.raises(InvalidInput, match="takes options by name") as caught:
        app.job(work)  # type: ignore[arg-type]  # wrong on purpose
    assert caught.value.hint == "write @app.job(), with ()"
    wrong: Any
    for wrong in ("", None, 5, "two\nlines"):
        with pytest.raises(InvalidInput, match="is no name of an app"):
            App(wrong)
    wrong = contextlib.nullcontext()
    with pytest.raises(InvalidInput, match="lifespan: a nullcontext cannot be called"):
        App("shop", lifespan=wrong)
    for wrong in (5, [5], contextlib.nullcontext):
        with pytest.raises(InvalidInput, match="middleware: "):
            App("shop", middleware=wrong)


def test_a_second_handler_of_a_kind_is_refused_and_changes_nothing(app: App) -> None:
    @app.job(kind="mail")
    def first(a: int) -> None: ...

    with pytest.raises(InvalidInput, match="the app 'shop' already has a handler of the kind"):
        app.job(kind="mail")(lambda: None)
    assert app.handlers["mail"].function is first.function
    App("other").job(kind="mail")(lambda: None)


def test_a_decorated_function_is_still_the_function(app: App) -> None:
    @app.job()
    def add(a: int, b: int = 2) -> int:
        """Add."""
        return a + b

    @app.job()
    async def double(ctx: Context[None] | None, a: int) -> int:
        return a * 2

    assert add(1) == 3
    assert add(1, b=5) == 6
    assert asyncio.run(double(None, a=4)) == 8
    assert double.handler.takes_context
    assert double.call(a=4).payload == b'{"a":4}'
    assert (add.__name__, add.__doc__, add.__wrapped__) == ("add", "Add.", add.function)
    with pytest.raises(TypeError):
        add()


def _call(app: App) -> Any:
    @app.job(queue="mail")
    def send(to: str, times: int = 1) -> None: ...

    return send.call("a")


def test_a_call_is_validated_and_sends_nothing(app: App) -> None:
    call = _call(app)
    assert call.payload == call.submission.payload == b'{"to":"a"}'
    with pytest.raises(InvalidPayload, match=r"send: Expected `str`, got `int` at \$\.to"):
        call.job.call(7)


def test_options_of_a_call(app: App) -> None:
    call = _call(app)
    zone = timezone(timedelta(hours=1))
    changed = call.options(
        at=datetime(2027, 1, 31, 9, tzinfo=zone),
        key="k-1",
        queue="slow",
        priority="low",
        timeout="1m",
        max_attempts=1,
        effect_key="e-1",
    )
    wanted = changed.submission
    assert wanted.due_at == "2027-01-31T09:00:00+01:00"
    assert (wanted.key, wanted.queue, wanted.priority) == ("k-1", "slow", "low")
    assert (wanted.timeout_ms, wanted.max_attempts, wanted.effect_key) == (60_000, 1, "e-1")
    assert wanted.payload == call.payload
    assert call.options(delay="5m").submission.delay_ms == 300_000
    assert call.options(delay=timedelta(0)).submission.delay_ms == 0
    # Nothing given changes nothing, and the call itself never changes.
    assert call.options().submission == call.submission
    assert call.submission.key is None


def test_wrong_options_of_a_call(app: App) -> None:
    call = _call(app)
    with pytest.raises(InvalidInput, match="delay and at: both were given"):
        call.options(delay="1s", at=datetime(2027, 1, 1, tzinfo=UTC))
    with pytest.raises(NaiveDatetime, match="at: 2027-01-01T00:00:00 has no time zone"):
        call.options(at=datetime(2027, 1, 1))  # noqa: DTZ001 - naive on purpose
    with pytest.raises(InvalidDuration, match="delay: '-1s' is negative"):
        call.options(delay="-1s")
    with pytest.raises(InvalidDuration, match="timeout: 5 has no unit"):
        call.options(timeout=5)


def test_signals_carry_their_delay() -> None:
    assert RetryAfter("30s").delay_ms == 30_000
    assert str(RetryAfter("30s")) == "retry after 30000 ms"
    assert Snooze(timedelta(minutes=1), "busy").delay_ms == 60_000
    assert (str(Snooze("1m", "busy")), Snooze("1m", "busy").reason) == ("busy", "busy")
    assert str(Fail("card declined")) == "card declined"
    for signal in (RetryAfter, Snooze):
        with pytest.raises(InvalidDuration):
            signal("-1s")


def test_a_job_is_made_by_its_decorator_only_once(app: App) -> None:
    def one() -> int:
        return 1

    job = app.job(kind="k")(one)
    assert isinstance(job, Job)
    assert job() == 1
    assert app.handlers["k"].codec.takes_context is False
