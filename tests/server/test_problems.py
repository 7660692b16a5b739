"""Errors as problem documents: a code, a pointer, and what to do next."""

import msgspec
import pytest

from mainspring.domain.errors import (
    InvalidInput,
    InvalidPayload,
    MethodNotAllowed,
    NotJson,
    PayloadTooDeep,
    PayloadTooLarge,
    RateLimited,
    Unauthenticated,
    UnknownOption,
    UnsupportedMedia,
)
from mainspring.server.http.problems import headers_of, problem_of
from mainspring.server.http.reading import BodyReader, QueryReader


class Inner(msgspec.Struct, forbid_unknown_fields=True):
    size: int = 0


class Body(msgspec.Struct, forbid_unknown_fields=True):
    name: str
    count: int = 1
    parts: list[Inner] = []


class Query(msgspec.Struct, forbid_unknown_fields=True):
    limit: int = 50
    state: list[str] = []
    deep: bool = False


bodies = BodyReader(Body, 1_000)
queries = QueryReader(Query)


@pytest.mark.parametrize(
    ("body", "error", "pointer", "said"),
    [
        (b"{}", InvalidInput, "/name", "the member 'name' is missing"),
        (b'{"name":1}', InvalidInput, "/name", "name: expected `str`, got `int`"),
        (b'{"name":"a","cuont":2}', UnknownOption, "/cuont", "there is no member 'cuont'"),
        (
            b'{"name":"a","parts":[{},{"size":"x"}]}',
            InvalidInput,
            "/parts/1/size",
            "parts/1/size: expected `int`, got `str`",
        ),
        (
            b'{"name":"a","parts":[{"a/b":1}]}',
            UnknownOption,
            "/parts/0/a~1b",
            "there is no member",
        ),
        (b'{"name":"a","name":"b"}', InvalidPayload, None, "the body repeats a key"),
        (b"[1]", InvalidPayload, None, "the body is a list, it must be an object"),
        (b"", NotJson, None, "the body is not JSON"),
        (b'{"name":', NotJson, None, "the body is not JSON"),
        (b'{"name":"\xff"}', NotJson, None, "the body is not JSON"),
        (b'{"a":' * 500 + b"1" + b"}" * 500, PayloadTooLarge, None, "the limit is 1,000"),
        (b'{"a":' * 100 + b"1" + b"}" * 100, PayloadTooDeep, None, "65 levels deep"),
    ],
)
def test_a_body_that_does_not_fit(
    body: bytes, error: type[InvalidInput], pointer: str | None, said: str
) -> None:
    with pytest.raises(error) as caught:
        bodies.read(body, "application/json")
    problem = problem_of(caught.value, path="/things", request_id="req_1")
    assert said in problem.detail
    assert (problem.code, problem.status) == (error.code, error.http_status)
    assert [each.pointer for each in problem.errors] == ([] if pointer is None else [pointer])
    assert problem.hint


def test_a_slip_in_a_member_gets_a_suggestion() -> None:
    with pytest.raises(UnknownOption) as caught:
        bodies.read(b'{"name":"a","cuont":2}', None)
    assert caught.value.hint == "did you mean count?"


@pytest.mark.parametrize("media", ["application/json", "application/json; charset=utf-8", None])
def test_json_by_any_of_its_names_is_read(media: str | None) -> None:
    assert bodies.read(b'{"name":"a"}', media) == Body("a")


def test_another_media_type_is_refused() -> None:
    with pytest.raises(UnsupportedMedia, match="x-www-form-urlencoded"):
        bodies.read(b'{"name":"a"}', "application/x-www-form-urlencoded")


@pytest.mark.parametrize(
    ("query", "pointer", "said"),
    [
        (b"limit=x", "?limit", "limit: expected `int`"),
        (b"limlt=1", "?limlt", "there is no parameter 'limlt'"),
        (b"limit=1&limit=2", "?limit", "limit: it is given twice"),
        (b"limit=%ff", None, "the parameters cannot be read"),
        (b"deep=perhaps", "?deep", "deep: "),
    ],
)
def test_a_parameter_that_does_not_fit(query: bytes, pointer: str | None, said: str) -> None:
    with pytest.raises(InvalidInput) as caught:
        queries.read(query)
    problem = problem_of(caught.value, path="/things", request_id="req_1")
    assert said in problem.detail
    assert [each.pointer for each in problem.errors] == ([] if pointer is None else [pointer])


def test_parameters_that_are_lists_come_repeated_or_with_commas() -> None:
    assert queries.read(b"state=a&state=b,c&limit=7&deep=true") == Query(7, ["a", "b", "c"], True)
    assert queries.read(b"") == Query()


def test_the_option_that_a_message_names_is_pointed_to() -> None:
    error = InvalidInput("max_attempts: 0 is not a whole number", details={"index": 3})
    problem = problem_of(error, path="/jobs", request_id="req_1")
    assert [each.pointer for each in problem.errors] == ["/jobs/3/max_attempts"]
    assert problem.details == {"index": 3}


def test_errors_bring_the_headers_that_belong_to_them() -> None:
    assert dict(headers_of(Unauthenticated())) == {"www-authenticate": 'Bearer realm="mainspring"'}
    assert dict(headers_of(MethodNotAllowed(details={"allow": "GET"}))) == {"allow": "GET"}
    slow = RateLimited(details={"retry_after": 7})
    assert dict(headers_of(slow)) == {"retry-after": "7"}
    assert problem_of(slow, path="/", request_id="x").retry_after == 7
