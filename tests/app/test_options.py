"""The options of a submission: read once for decorator, call, job and client."""

from datetime import UTC, datetime
from typing import Any

import pytest

from mainspring.app.declare import App
from mainspring.app.options import OPTION_NAMES, read_options
from mainspring.app.retries import Retry
from mainspring.app.uniqueness import unique_key
from mainspring.domain.errors import InvalidDuration, InvalidInput, NaiveDatetime, UnknownOption
from mainspring.domain.limits import KEY_CHARACTERS_MAX

app = App("shop")


@app.job(queue="stock", unique=("shop_id",), on_duplicate="replace", effect_key="e")
def sync_stock(shop_id: int, full: bool = False) -> int:
    return shop_id


@app.job()
def plain(shop_id: int, note: str = "none") -> int:
    return shop_id


def test_options_are_bound_to_a_job_and_to_a_call_alike() -> None:
    job = plain.options(priority="high", delay="15m")
    call = job.call(3).options(priority="low", timeout="1m")
    wanted = call.submission
    assert (wanted.priority, wanted.delay_ms, wanted.timeout_ms) == ("low", 900_000, 60_000)
    assert job.call(3).submission.priority == "high"
    assert plain.call(3).submission.priority is None
    assert job(4) == 4


def test_the_last_of_delay_and_at_wins() -> None:
    at = datetime(2030, 1, 1, tzinfo=UTC)
    assert plain.options(delay="1m").options(at=at).call(1).submission.delay_ms is None
    assert plain.options(at=at).options(delay="1m").call(1).submission.due_at is None


def test_what_a_decorator_says_is_a_default_of_its_submissions() -> None:
    wanted = sync_stock.call(3).submission
    assert (wanted.unique_key, wanted.on_duplicate) == ('sync_stock:{"shop_id":3}', "replace")
    assert wanted.effect_key == "e"
    # Declared with the handler: other submitters get them too.
    assert wanted.queue is None
    assert sync_stock.handler.info.queue == "stock"


def test_a_unique_key_counts_defaults_like_values() -> None:
    job = plain.options(unique=True)
    assert job.call(3).submission.unique_key == 'plain:{"note":"none","shop_id":3}'
    assert job.call(3, "none").submission.unique_key == job.call(3).submission.unique_key
    assert job.call(3, "x").submission.unique_key != job.call(3).submission.unique_key
    assert plain.options(unique="mine").call(3).submission.unique_key == "mine"
    assert plain.options(unique=False).call(3).submission.unique_key is None


def test_a_long_or_odd_unique_key_is_hashed() -> None:
    for value in ("x" * KEY_CHARACTERS_MAX, "line\nline", "\u200b"):
        key = unique_key(("a",), "k", {"a": value})
        assert key.isprintable()
        assert len(key) <= KEY_CHARACTERS_MAX
        assert key != unique_key(("a",), "k", {"a": value + "y"})


def test_a_key_with_on_duplicate_is_a_unique_key() -> None:
    wanted = plain.options(key="stock-3", on_duplicate="replace").call(3).submission
    assert (wanted.key, wanted.unique_key) == (None, "stock-3")
    assert plain.options(key="stock-3").call(3).submission.key == "stock-3"
    both = plain.options(key="once", unique=True, on_duplicate="reject").call(3).submission
    assert (both.key, both.on_duplicate) == ("once", "reject")


def test_retry_of_one_submission() -> None:
    wanted = plain.options(retry=Retry(max_attempts=2, max_crashes=1)).call(1).submission
    assert (wanted.max_attempts, wanted.max_crashes) == (2, 1)
    assert wanted.backoff is not None


def test_what_follows_a_dead_job_is_chosen_by_kind_or_by_job() -> None:
    for given in ("plain", plain):
        assert plain.options(on_exhausted=given).call(1).submission.on_exhausted == "plain"
    assert plain.call(1).submission.on_exhausted is None


_BAD: list[tuple[dict[str, Any], type[InvalidInput], str, str]] = [
    ({"dealy": "5m"}, UnknownOption, "no option 'dealy'", "did you mean delay?"),
    ({"xyz": 1}, UnknownOption, "no option 'xyz'", "use one of queue, priority"),
    ({"delay": 5}, InvalidDuration, "delay: 5 has no unit", "30s"),
    ({"delay": "soon"}, InvalidDuration, "delay: 'soon'", "5m"),
    ({"delay": "1s", "at": datetime(2030, 1, 1, tzinfo=UTC)}, InvalidInput, "both", "one of"),
    ({"at": datetime(2030, 1, 1)}, NaiveDatetime, "no time zone", "zone"),  # noqa: DTZ001
    ({"at": "tomorrow"}, InvalidInput, "at: 'tomorrow' is not an instant", "datetime"),
    ({"timeout": 3}, InvalidDuration, "timeout: 3", "30s"),
    ({"key": 5}, InvalidInput, "key: 5 is not a key", "printable characters"),
    ({"queue": 5}, InvalidInput, "queue: 5 is not a name", "letters, digits"),
    ({"on_exhausted": 5}, InvalidInput, "on_exhausted: 5 is no job", "on_exhausted=job"),
    ({"on_exhausted": "no such"}, InvalidInput, "on_exhausted: 'no such'", "letters"),
    ({"effect_key": b"e"}, InvalidInput, "effect_key: b'e' is not a key", "1 to 256"),
    ({"unique": ""}, InvalidInput, "unique: ''", "True for equal payloads"),
    ({"unique": ()}, InvalidInput, "unique: ()", "names of parameters"),
    ({"unique": 7}, InvalidInput, "unique: 7", "names of parameters"),
    ({"unique": ("shop",)}, InvalidInput, "plain has no parameter 'shop'", "shop_id?"),
    ({"unique_while": "lives"}, UnknownOption, "unique_while: there is no 'lives'", "live"),
    ({"on_duplicate": "drop"}, UnknownOption, "on_duplicate: there is no 'drop'", "existing"),
    ({"on_duplicate": "reject"}, InvalidInput, "nothing says what a duplicate is", "unique="),
    ({"retry": 3}, InvalidInput, "retry: 3 is no Retry", "max_attempts"),
    ({"retry": Retry(on=(OSError,))}, InvalidInput, "retry: on=", "@app.job"),
]


@pytest.mark.parametrize(("options", "error", "words", "hint"), _BAD)
def test_a_wrong_option_says_what_where_and_how(
    options: dict[str, Any], error: type[InvalidInput], words: str, hint: str
) -> None:
    def on_job() -> object:
        return plain.options(**options).call(1)

    def on_call() -> object:
        return plain.call(1).options(**options)

    for attempt in (on_job, on_call):
        with pytest.raises(error) as caught:
            attempt()
        assert words in caught.value.message
        assert hint in caught.value.hint
        assert caught.value.exit_code == 2


def test_none_is_the_same_as_not_given() -> None:
    assert read_options(dict.fromkeys(OPTION_NAMES)) == read_options({})
