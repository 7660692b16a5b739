import re
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Any

import msgspec
import pytest
from hypothesis import assume, example, given
from hypothesis import strategies as st

from mainspring.domain.errors import InvalidQuery
from mainspring.domain.ids import SCHEDULE, show, show_job
from mainspring.domain.job import JobView
from mainspring.domain.outcome import ErrorInfo
from mainspring.domain.search import Query, parse
from mainspring.domain.states import FINAL, HELD, JobState
from mainspring.testing.filters import admits

NOW = datetime(2026, 11, 19, 12, tzinfo=UTC)
ID = bytes.fromhex("019a9b3c5d7e7f008112233445566778")


def job(**changes: Any) -> JobView:
    given: dict[str, Any] = {
        "id": ID,
        "kind": "email.send",
        "tenant": "acme",
        "queue": "mail",
        "priority": 1,
        "state": JobState.DEAD,
        "due_at": NOW - timedelta(minutes=30),
        "created_at": NOW - timedelta(minutes=40),
        "started_at": NOW - timedelta(minutes=20),
        "finished_at": NOW - timedelta(minutes=19),
        "attempt": 3,
        "tries": 3,
        "crashes": 0,
        "max_attempts": 3,
        "max_crashes": 3,
        "timeout_ms": 1_000,
        "payload": b'{"user":{"id":42,"name":"Ann"},"amount":9.5,"list":[true,null]}',
        "error": msgspec.json.encode(ErrorInfo("Timeout", "the call Timed Out")),
        "error_group": "ab12",
        "worker_id": ID,
        "schedule_id": ID,
        "nominal_at": NOW - timedelta(minutes=45),
        "submission_key": "k-1",
        "unique_key": "u 1",
        "reason": "attempts_exhausted",
        "replays": 1,
    }
    return JobView(**given | changes)


def matches(text: str, **changes: Any) -> bool:
    return parse(text, NOW).matches(job(**changes))


@pytest.mark.parametrize(
    "text",
    [
        f"schedule:{show(SCHEDULE, ID)}",
        f"schedule:{show(SCHEDULE, ID)[:12]}*",
        "nominal:>40m",
        "",
        "state:failed,dead",
        "STATE:DEAD",
        "state:final",
        "kind:email.*",
        "kind:email.send",
        "queue:mail tenant:acme",
        "attempt:>=3 attempt:3 attempt:1..3 attempt:<4 tries:3 replays:1",
        "priority:high priority:>normal priority:<=high,critical",
        "wait:>5m wait:10m..10m wait:<=1h30m",
        "ran:>30s ran:1m..2m",
        "created:<1h created:>39m created:2026-11-19 created:2026-11-01..2026-11-19",
        "finished:>=2026-11-19T12:41:00+01:00 finished:<2026-11-20",
        'error:"timed out" error:timeout',
        "group:ab12 key:k-1 reason:attempts*",
        'unique:"u 1"',
        "args.user.id:42 args.user.name:Ann args.user.name:A* args.list.0:true args.list.1:null",
        "args.amount:9.5 args.amount:>9 args.amount:9..10",
        "-queue:bulk -state:ready,running",
        "email",
        "email*",
        f"id:{show_job(ID)} {show_job(ID)} {show_job(ID)[:12]} id:{show_job(ID)[:9].lower()}",
        f"worker:{show('wrk', ID)[:10]} worker:{show('wrk', ID)}",
        "(state:dead queue:mail),(state:ready queue:bulk)",
        "state:dead,kind:none",
        "state:ready,(kind:email.* -(queue:bulk,tenant:other))",
        "-(state:ready kind:email.*)",
        " state:dead , queue:none ",
    ],
)
def test_what_matches(text: str) -> None:
    query = parse(text, NOW)
    assert query.matches(job())
    assert admits(query.pushdown(), job())


@pytest.mark.parametrize(
    "text",
    [
        "state:ready",
        "-state:dead",
        "kind:mail*",
        "kind:email",
        'kind:"email.*"',
        "attempt:>3",
        "attempt:4..9",
        "priority:>high",
        "wait:<10m",
        "ran:>60s",
        "created:<40m",
        "created:2026-11-18",
        "created:<2026-11-19",
        "finished:>2026-11-19",
        "error:refused",
        "group:ab1",
        "schedule:sch_7ZZZZ",
        "nominal:<40m",
        "args.user.id:4",
        "args.user.id:>42",
        "args.user.name:>5",
        "args.none:",
        "args.user:42",
        "mail",
        show_job(bytes(16)),
        "state:dead queue:bulk",
        "(state:ready),(queue:bulk)",
        "-(state:dead,queue:bulk)",
    ],
)
def test_what_does_not(text: str) -> None:
    if text == "args.none:":
        text = 'args.none:""'
    assert not matches(text)


def test_words_about_what_did_not_happen_do_not_match() -> None:
    for text in ("ran:>=0s", "started:<1d", "worker:wrk_0", "error:e", "finished:<9d", "group:*x"):
        assert not matches(
            text, started_at=None, finished_at=None, worker_id=None, error=None, error_group=None
        )


@pytest.mark.parametrize(
    ("text", "offset", "message", "hint"),
    [
        ("stat:dead", 0, "there is no field 'stat'", "did you mean state"),
        ("kind:a statex:dead", 7, "there is no field 'statex'", "did you mean state"),
        ("state:deed", 6, "there is no state 'deed'", "did you mean dead"),
        ("state:dead,readyx", 11, "there is no state 'readyx'", "did you mean ready"),
        ("priority:highx", 9, "there is no priority 'highx'", "did you mean high"),
        ("tag:vip", 0, "tag: there are no such things in this version yet", "leave this"),
        ("schedule:nightly", 9, "'nightly' is not the beginning of a schedule's id", "--schedule"),
        ("kind:", 5, "kind: has no value", "write it"),
        ("kind:a,", 7, "kind: has no value", "write it"),
        ("kind: b", 5, "kind: has no value", "write it"),
        ("kind:queue:x", 5, "kind: has no value", "quote"),
        ('error:"open', 6, "this quotation is not closed", 'add a "'),
        ('kind:"a"b', 8, "there is no space before this", "quote"),
        ("(state:dead", 0, "this ( is not closed", "add a )"),
        ("state:dead)", 10, "there is no ( for this )", "remove"),
        ("a ()", 2, "there is nothing between ( and )", "remove"),
        ("(((a)))", 2, "more than 2 levels of ( )", "flatter"),
        ("-", 1, "there is nothing to exclude after -", "-queue:bulk"),
        ("--a", 1, "there is nothing to exclude after -", "-queue:bulk"),
        (",a", 0, "something is missing", "remove"),
        ("attempt:many", 8, "attempt: 'many' is not a number", "attempt:>=3"),
        ("wait:5m", 5, "wait: '5m' is not a span of time", "wait:>5m"),
        ("wait:>5", 5, "wait: '5' is not a span of time", "wait:>5m"),
        ("created:1h", 8, "created: before or after?", "created:<1h"),
        ("created:2026-13-01", 8, "created: '2026-13-01' is no instant", "2026-11-01"),
        ("created:>2026-11-01T10:00", 8, "is no instant", "2026-11-01T09:00Z"),
        ("created:<99999w", 8, "is no instant", "<1h"),
        ("created:9999-12-31", 8, "is no instant", "<1h"),
        ("kind:>a", 5, "kind: cannot be compared", "write kind:a"),
        ("id:42", 3, "'42' is not the beginning of an id", "job_01"),
        ("args:42", 5, "args: of which member?", "args.user.id:42"),
        ("kind.x:a", 7, "kind: has no members", "kind:value"),
        (" ".join(["a"] * 21), 40, "more than 20 terms", "many values"),
        ("é" * 1_025, 0, "it has 2,050 bytes, the limit is 2,048", "shorten"),
    ],
)
def test_errors_say_where_and_what_instead(text: str, offset: int, message: str, hint: str) -> None:
    with pytest.raises(InvalidQuery) as caught:
        parse(text, NOW)
    assert message in str(caught.value)
    assert f"at character {offset + 1}:" in str(caught.value)
    assert hint in caught.value.hint
    assert caught.value.details == {"offset": offset}


@pytest.mark.parametrize(
    ("text", "written"),
    [
        ("  state:dead   kind:a ", "state:dead kind:a"),
        ("State:Dead", "state:Dead"),
        ('kind:"a"', "kind:a"),
        ('kind:"a*"', 'kind:"a*"'),
        ('error:"x y\\"z\\\\"', 'error:"x y\\"z\\\\"'),
        ("((a b))", "a b"),
        ("(a,b),c", "a,b,c"),
        ("(a b) c", "a b c"),
        ("a,(b c)", "a,(b c)"),
        ("kind:a,(b)", "kind:a,(b)"),
        ("kind:a,(-b)", "kind:a,(-b)"),
        ("-kind:a,(-b),-(b c)", "-kind:a,(-b),-(b c)"),
        ("-(kind:a)", "-kind:a"),
        ("-(a b)", "-(a b)"),
        ('"-a"', '"-a"'),
        ('"kind:a"', '"kind:a"'),
        ("created:2026-11-01T09:00Z..2026-11-02T09:00Z",) * 2,
    ],
)
def test_how_a_query_is_written(text: str, written: str) -> None:
    query = parse(text, NOW)
    assert str(query) == written
    assert parse(written, NOW) == query


# --- Properties -----------------------------------------------------------------------------------

_TEXTS = st.sampled_from(
    ["a", "email.send", "x y", "é", '"', "\\", "a*", "-a", "kind:a", "a..b", "<1"]
)
_STATES = st.sampled_from([*JobState, "live", "final", "failed"]).map(str)
_AGES = st.sampled_from(["<1h", ">=20m", "<=40m", "10m..30m", ">1w", "2026-11-19", "<2026-11-19"])


def _quoted(text: str) -> str:
    escaped = text.replace("\\", "\\\\").replace('"', '\\"')
    return f'"{escaped}"'


def _terms(field: str, values: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    return st.lists(values, min_size=1, max_size=3).map(lambda some: f"{field}:{','.join(some)}")


_TERM = st.one_of(
    _terms("state", _STATES),
    *(
        _terms(field, st.one_of(_TEXTS.map(_quoted), st.sampled_from(["mail", "em*", "b-1"])))
        for field in ("kind", "queue", "tenant", "group", "error", "args.user.name")
    ),
    *(_terms(field, _AGES) for field in ("created", "finished", "due")),
    _terms("attempt", st.sampled_from(["3", ">=2", "<9", "1..4"])),
    _terms("priority", st.sampled_from(["high", ">low", "<=normal"])),
    _terms("wait", st.sampled_from([">5m", "1s..1h"])),
    st.integers(5, 30).map(lambda size: f"id:{show_job(ID)[:size]}"),
    st.integers(1, 30).map(lambda size: show_job(ID)[:size]),
    _TEXTS.map(_quoted),
    st.sampled_from(["email", "none"]),
)


def _either(parts: list[str]) -> str:
    """Join by comma; bare text in brackets, for after a field it would be another value."""
    is_bare = re.compile(r'-?("|[^:("]*$)')
    return ",".join(f"({part})" if is_bare.match(part) else part for part in parts)


def _joined(parts: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    some = st.lists(parts, min_size=1, max_size=3)
    return st.one_of(some.map(" ".join), some.map(_either))


_SIGNED = st.tuples(st.sampled_from(["", "", "-"]), _TERM).map("".join)
_INNER = st.one_of(_SIGNED, _joined(_SIGNED).map(lambda text: f"({text})"))
_MIDDLE = st.one_of(_INNER, _joined(_INNER).map(lambda text: f"-({text})"))
_QUERIES = _joined(_MIDDLE)


def _parsed(text: str) -> Query:
    try:
        return parse(text, NOW)
    except InvalidQuery as error:
        # Too many terms, or too long: of what is generated nothing else can be wrong.
        assume("more than" not in str(error) and "bytes" not in str(error))
        raise


@st.composite
def _jobs(draw: Callable[[Any], Any]) -> JobView:
    state = draw(st.sampled_from(JobState))
    at = NOW - timedelta(seconds=draw(st.integers(0, 4_000)))
    begun = draw(st.booleans()) or state in HELD
    return job(
        id=draw(st.one_of(st.just(ID), st.binary(min_size=16, max_size=16))),
        state=state,
        kind=draw(st.sampled_from(["email.send", "a", "email"])),
        queue=draw(st.sampled_from(["mail", "b-1", "x y"])),
        tenant=draw(st.sampled_from(["a", "mail", "é"])),
        priority=draw(st.integers(0, 3)),
        created_at=at,
        due_at=at + timedelta(seconds=draw(st.integers(0, 100))),
        started_at=at + timedelta(seconds=7) if begun else None,
        finished_at=at + timedelta(seconds=9) if state in FINAL else None,
        error_group=draw(st.sampled_from([None, "a", "mail"])),
    )


@given(_QUERIES, _jobs())
def test_pushdown_admits_whatever_matches(text: str, seen: JobView) -> None:
    query = _parsed(text)
    if query.matches(seen):
        assert not query.is_impossible
        assert admits(query.pushdown(), seen)


@given(_QUERIES, _jobs())
def test_the_text_of_a_query_is_the_query(text: str, seen: JobView) -> None:
    query = _parsed(text)
    again = parse(str(query), NOW)
    assert again == query
    assert str(again) == str(query)
    assert again.matches(seen) is query.matches(seen)


@given(_MIDDLE, _MIDDLE, _jobs())
def test_space_is_and_comma_is_or_minus_is_not(one: str, other: str, seen: JobView) -> None:
    found = [_parsed(text).matches(seen) for text in (one, other)]
    assert _parsed(f"{one} {other}").matches(seen) is all(found)
    assert _parsed(f"({_parsed(one)})" if one[0] == "(" else one).matches(seen) is found[0]
    if not one.startswith("-"):
        assert _parsed(f"-{one}").matches(seen) is not found[0]


_PIECES = [*'()",-:.*<>=\\ \t\n', "a", "1", "state", "kind:", "args.x:", "é", "\ud800"]
_SOUP = st.lists(st.sampled_from(_PIECES), max_size=60).map("".join)


@given(st.one_of(st.text(), _SOUP))
@example("(" * 2_000)
@example("-" * 2_000)
@example("-(" * 1_000)
@example('"' + "\\" * 2_000)
@example("a," * 1_000)
@example("attempt:" + "9" * 2_000)
@example("args." + "a." * 900 + "a:1")
@example("created:<" + "1h" * 900)
def test_hostile_text_is_a_query_or_one_clear_error(text: str) -> None:
    caught: InvalidQuery | None = None
    query: Query | None = None
    try:
        query = parse(text, NOW)
    except InvalidQuery as error:
        caught = error
    if query is not None:
        assert parse(str(query), NOW) == query
        query.matches(job())
        query.pushdown()
    else:
        assert caught is not None
        offset = caught.details["offset"]
        assert isinstance(offset, int)
        assert 0 <= offset <= len(text)
        assert caught.hint
