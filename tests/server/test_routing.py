"""The route table: found by method and path, refused with what would have been right."""

import pytest

from mainspring.domain.access import Right
from mainspring.domain.errors import InvalidCursor, MethodNotAllowed, NotFound
from mainspring.server.http.calls import Answer, Call, Cursor, Stream
from mainspring.server.http.routes import TABLE
from mainspring.server.http.routing import Routes, Table
from mainspring.wire.documents.jobs import JobDocument

routes = Routes("Things")


@routes.add("GET", "/things", Right.JOBS_READ)
async def list_things(call: Call) -> Answer[JobDocument]:
    """List things.

    All of them.
    """
    raise NotImplementedError


@routes.add("GET", "/things/{thing}/parts/{part}", Right.JOBS_READ)
async def get_part(thing: str, part: str) -> None:
    """Return a part."""


@routes.add("POST", "/things/{thing}/parts/{part}", Right.JOBS_READ)
async def change_part(thing: str, part: str) -> None:
    """Change a part."""


@routes.add("GET", "/things/first/parts/{part}", None)
async def get_part_of_first(part: str) -> Stream:
    """Return a part of the first."""
    raise NotImplementedError


table = Table(routes.all)


def test_a_route_tells_what_it_is_for_and_answers_with() -> None:
    route = table.find("GET", "/things").route
    assert (route.name, route.summary) == ("list_things", "List things.")
    assert route.description == "All of them."
    assert (route.answer, route.is_stream) == (JobDocument, False)
    assert table.find("GET", "/things/first/parts/x").route.is_stream


def test_variable_parts_are_given_by_name() -> None:
    found = table.find("POST", "/things/a%2Fb/parts/7")
    assert found.route.name == "change_part"
    assert found.parts == {"thing": "a%2Fb", "part": "7"}


def test_what_is_fixed_goes_before_what_is_variable() -> None:
    assert table.find("GET", "/things/first/parts/7").route.name == "get_part_of_first"


@pytest.mark.parametrize(
    "path", ["/", "", "/thing", "/things/", "/things/a/parts", "//", "/things/a/b/c"]
)
def test_what_is_not_there_is_not_found(path: str) -> None:
    with pytest.raises(NotFound, match="there is nothing at"):
        table.find("GET", path)


def test_another_method_is_told_those_that_are_taken() -> None:
    with pytest.raises(MethodNotAllowed, match="takes GET, POST, not DELETE") as caught:
        table.find("DELETE", "/things/a/parts/b")
    assert caught.value.details == {"allow": "GET, POST"}


def test_a_cursor_continues_its_own_question_alone() -> None:
    text = Cursor("jobs", "dead").text(b"\x00\xff")
    assert Cursor("jobs", "dead").read(text) == b"\x00\xff"
    for wrong in (Cursor("jobs", "ready"), Cursor("workers", "dead")):
        with pytest.raises(InvalidCursor, match="continues another question"):
            wrong.read(text)


@pytest.mark.parametrize("text", ["", "x", "!!!!", "äö", "QUJD=A==", "A" * 5])
def test_what_is_no_cursor_is_told(text: str) -> None:
    with pytest.raises(InvalidCursor):
        Cursor("jobs").read(text)


def test_there_is_no_cursor_behind_the_end() -> None:
    assert Cursor("jobs").text(None) is None
    assert Cursor("jobs").read(None) is None


def test_every_route_is_named_once_and_says_what_for() -> None:
    names = [route.name for route in TABLE.routes]
    assert len(names) == len(set(names))
    assert all(route.summary.endswith(".") for route in TABLE.routes)
    assert len({(route.method, route.path) for route in TABLE.routes}) == len(names)
