import enum
import math
import uuid
from dataclasses import dataclass, field
from datetime import UTC, date, datetime, time, timedelta
from decimal import Decimal
from typing import Annotated, Any, Literal, NamedTuple, NotRequired, TypedDict

import msgspec
import pydantic
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mainspring.app.codec import Codec
from mainspring.app.context import Context
from mainspring.domain.errors import (
    InvalidPayload,
    NaiveDatetime,
    PayloadTooDeep,
    PayloadTooLarge,
)
from mainspring.domain.limits import RESULT_BYTES_MAX
from mainspring.registry.validate import check_schema


class Colour(enum.Enum):
    RED = "red"
    BLUE = "blue"


class Level(enum.IntEnum):
    LOW = 1
    HIGH = 2


@dataclass(frozen=True)
class Address:
    street: str
    number: int = 1
    tags: list[str] = field(default_factory=list)


class Point(NamedTuple):
    x: float
    y: float = 0.0


class Row(TypedDict):
    id: int
    note: NotRequired[str]


class Cat(msgspec.Struct, frozen=True, tag=True):
    lives: int


class Dog(msgspec.Struct, frozen=True, tag=True):
    name: str
    home: Address | None = None


class Item(pydantic.BaseModel):
    sku: str
    price: Decimal


class Order(pydantic.BaseModel):
    id: int = pydantic.Field(alias="orderId")
    items: list[Item] = []
    placed_at: datetime | None = None

    @pydantic.computed_field  # type: ignore[prop-decorator]  # as pydantic documents it
    @property
    def count(self) -> int:
        return len(self.items)


class Strict(pydantic.BaseModel, extra="forbid"):
    total: float | None = None

    @pydantic.computed_field  # type: ignore[prop-decorator]  # as pydantic documents it
    @property
    def is_paid(self) -> bool:
        return True


class Tree(pydantic.BaseModel):
    children: list["Tree"] = []


@dataclass
class Reading:
    value: float | None


def codec_for(hint: Any, *, default: Any = msgspec.UNSET, returns: Any = Any) -> Codec:
    def function(value: Any = None) -> Any: ...

    if default is msgspec.UNSET:
        function.__defaults__ = None
    else:
        function.__defaults__ = (default,)
    function.__annotations__ = {"value": hint, "return": returns}
    return Codec("test.kind", function)


_CASES: list[tuple[Any, Any]] = [
    (object, {"a": [1, None]}),
    (dict[str, object], {"a": [1, None], "b": {"c": "d"}}),
    (int, 7),
    (int, 10**40),
    (int, -(2**63)),
    (float, 0.1),
    (bool, True),
    (str, "ä\u20ac\U0001f600\x00\n"),
    (bytes, b"\x00\xff"),
    (None, None),
    (int | None, None),
    (int | str, "x"),
    (list[int] | dict[str, int] | None, {"a": 1}),
    (datetime, datetime(2027, 1, 31, 9, 0, 0, 1, tzinfo=UTC)),
    (date, date(2027, 1, 31)),
    (time, time(9, 30)),
    (timedelta, timedelta(days=1, microseconds=5)),
    (uuid.UUID, uuid.UUID(int=7)),
    (Decimal, Decimal("1.10")),
    (Colour, Colour.BLUE),
    (Level, Level.HIGH),
    (Literal["a", 1], 1),
    (Annotated[int, msgspec.Meta(ge=1)], 1),
    (Address, Address("Main St", 5, ["home"])),
    (list[Address], [Address("a"), Address("b")]),
    (Point, Point(1.5)),
    (Row, {"id": 1, "note": "n"}),
    (Row, {"id": 1}),
    (Cat | Dog, Dog("Rex", Address("s"))),
    (dict[str, Cat | Dog], {"a": Cat(9)}),
    (dict[int, str], {1: "a"}),
    (set[int], {1, 2}),
    (frozenset[str], frozenset({"a"})),
    (tuple[int, str], (1, "a")),
    (tuple[int, ...], (1, 2, 3)),
    (list[Any], [1, "a", None, {"b": [True]}]),
    (dict[str, Any], {"a": {"b": 1}}),
    (Any, {"a": [1.5, None]}),
    (Order, Order(orderId=1, items=[Item(sku="a", price=Decimal("1.10"))])),
    (Order | None, None),
    (list[Order], [Order(orderId=2)]),
    (dict[str, Item], {"a": Item(sku="a", price=Decimal(1))}),
    (Strict, Strict(total=1.5)),
    (Tree, Tree(children=[Tree()])),
]


_IDS = [f"{number}-{getattr(hint, '__name__', 'union')}" for number, (hint, _) in enumerate(_CASES)]


@pytest.mark.parametrize(("hint", "value"), _CASES, ids=_IDS)
def test_a_value_comes_back_as_it_went(hint: Any, value: Any) -> None:
    codec = codec_for(hint, returns=hint)
    payload = codec.encode((value,), {})
    assert codec.decode(payload) == {"value": value}
    assert type(codec.decode(payload)["value"]) is type(value)
    result = codec.encode_result(value)
    assert codec.decode_result(result) == value
    # Who submits by name is judged by the schema: it must accept what the types accept.
    check_schema("test.kind", msgspec.json.decode(payload), codec.schema())


@pytest.mark.parametrize(("hint", "value"), _CASES, ids=_IDS)
def test_a_default_is_left_to_the_function(hint: Any, value: Any) -> None:
    codec = codec_for(hint, default=value)
    assert codec.encode((), {}) == b"{}"
    assert codec.decode(b"{}") == {}
    assert codec.decode(codec.encode((), {"value": value})) == {"value": value}
    check_schema("test.kind", {}, codec.schema())


@pytest.mark.parametrize(
    ("hint", "wrong"),
    [
        (int, b'"7"'),
        (int, b"1.5"),
        (int, b"true"),
        (str, b"7"),
        (str, b"null"),
        (datetime, b'"yesterday"'),
        (uuid.UUID, b'"x"'),
        (Colour, b'"green"'),
        (Literal["a"], b'"b"'),
        (Address, b'{"number":1}'),
        (Address, b'{"street":1}'),
        (Point, b"{}"),
        (Row, b"{}"),
        (Cat | Dog, b'{"type":"Cow"}'),
        (Order, b'{"id":"x"}'),
        (list[int], b'{"0":1}'),
        (tuple[int, str], b"[1]"),
    ],
    ids=[f"case{number}" for number in range(17)],
)
def test_a_wrong_value_is_refused_with_its_place(hint: Any, wrong: bytes) -> None:
    codec = codec_for(hint)
    with pytest.raises(InvalidPayload, match=r"^test\.kind: .* at \$\.value") as caught:
        codec.decode(b'{"value":' + wrong + b"}")
    assert str(caught.value.details["pointer"]).startswith("$.value")
    assert caught.value.hint.startswith("it takes test.kind(value: ")


def test_pydantic_definitions_stand_where_references_look() -> None:
    codec = codec_for(list[Order])
    check_schema(
        "k", {"value": [{"orderId": 1, "items": [{"sku": "a", "price": "1"}]}]}, codec.schema()
    )
    with pytest.raises(InvalidPayload, match=r'"sku" is a required property at /value/0/items/0'):
        check_schema("k", {"value": [{"orderId": 1, "items": [{"price": 1}]}]}, codec.schema())
    with pytest.raises(InvalidPayload):
        check_schema("k", {"value": {"children": [{"children": 1}]}}, codec_for(Tree).schema())


def test_what_pydantic_finds_is_one_line() -> None:
    with pytest.raises(InvalidPayload) as caught:
        codec_for(Order).decode(b'{"value":{"orderId":"x","items":[{"price":1}]}}')
    assert str(caught.value) == (
        "test.kind: orderId: Input should be a valid integer, unable to parse string as an "
        "integer; items.0.sku: Field required at $.value"
    )


def greet(name: str, *, times: int = 1, loud: bool = False) -> str:
    return name * times + "!" * loud


GREET = Codec("greet", greet)


@pytest.mark.parametrize(
    ("args", "kwargs", "payload"),
    [
        (("Ada",), {}, b'{"name":"Ada"}'),
        ((), {"name": "Ada", "times": 2}, b'{"name":"Ada","times":2}'),
        ((), {"loud": True, "name": "Ada"}, b'{"name":"Ada","loud":true}'),
    ],
)
def test_a_call_is_an_object_in_the_order_of_the_signature(
    args: tuple[Any, ...], kwargs: dict[str, Any], payload: bytes
) -> None:
    assert GREET.encode(args, kwargs) == payload
    assert greet(**GREET.decode(payload)) == greet(*args, **kwargs)


@pytest.mark.parametrize(
    ("args", "kwargs", "words"),
    [
        ((), {}, "greet: missing a required argument: 'name'"),
        (("a", 2), {}, "greet: too many positional arguments"),
        (("a",), {"name": "b"}, "greet: multiple values for argument 'name'"),
        ((1,), {}, "greet: Expected `str`, got `int` at $.name"),
        ((None,), {}, "greet: Expected `str`, got `null` at $.name"),
    ],
)
def test_a_wrong_call_is_told_how_it_is_written(
    args: tuple[Any, ...], kwargs: dict[str, Any], words: str
) -> None:
    with pytest.raises(InvalidPayload) as caught:
        GREET.encode(args, kwargs)
    assert str(caught.value) == words
    assert caught.value.hint == "it takes greet(name: str, *, times: int = 1, loud: bool = False)"


def test_a_wrong_name_in_a_call_gets_a_suggestion() -> None:
    for args, kwargs, meant in (
        (("a",), {"tims": 2}, "times"),
        ((), {"nmae": "a"}, "name"),
        ((), {"name": "a", "loudd": 1}, "loud"),
    ):
        with pytest.raises(InvalidPayload, match="greet: there is no parameter '") as caught:
            GREET.encode(args, kwargs)
        assert caught.value.hint.startswith(f"did you mean {meant!r}? it takes greet(")


def test_a_wrong_name_in_a_payload_gets_a_suggestion() -> None:
    with pytest.raises(InvalidPayload, match="greet: there is no parameter 'nmae'") as caught:
        GREET.decode(b'{"nmae":"Ada"}')
    assert caught.value.hint.startswith("did you mean 'name'? it takes greet(")
    with pytest.raises(InvalidPayload, match="there is no parameter 'zzz'") as caught:
        GREET.decode(b'{"name":"Ada","zzz":1}')
    assert caught.value.hint.startswith("it takes")
    with pytest.raises(InvalidPayload, match=r"greet: the parameter 'name' is missing$"):
        GREET.decode(b"{}")


@pytest.mark.parametrize("payload", [b"", b"[]", b"null", b"{", b"\xff", b'{"name":NaN}'])
def test_what_is_no_object_is_refused(payload: bytes) -> None:
    with pytest.raises(InvalidPayload, match=r"^greet: "):
        GREET.decode(payload)


@pytest.mark.parametrize("bad", [math.nan, math.inf, -math.inf])
@pytest.mark.parametrize(
    ("hint", "wrap"),
    [
        (int | float, lambda bad: bad),
        (Any, lambda bad: {"a": [1, bad]}),
        (float, lambda bad: bad),
        (float | None, lambda bad: bad),
        (set[float], lambda bad: {bad}),
        (Reading, Reading),
        (list[Reading], lambda bad: [Reading(None), Reading(bad)]),
        (Strict, lambda bad: Strict(total=bad)),
        (Point, Point),
    ],
    ids=[f"case{number}" for number in range(9)],
)
def test_nothing_that_is_not_finite_becomes_null(hint: Any, wrap: Any, bad: float) -> None:
    codec = codec_for(hint)
    with pytest.raises(InvalidPayload, match="which JSON cannot hold"):
        codec.encode((wrap(bad),), {})
    with pytest.raises(InvalidPayload, match="which JSON cannot hold"):
        codec.encode_result(wrap(bad))


def _endless() -> list[Any]:
    found: list[Any] = []
    found.append(found)
    return found


@pytest.mark.parametrize(
    "value",
    [object(), 1j, "\ud800", {object(): 1}, lambda: 1, iter(())],
    ids=["object", "complex", "surrogate", "key", "function", "generator"],
)
def test_what_json_cannot_hold_is_refused(value: object) -> None:
    with pytest.raises(InvalidPayload, match=r"^test\.kind: "):
        codec_for(Any).encode((value,), {})
    with pytest.raises(InvalidPayload, match=r"^the result of test\.kind: "):
        codec_for(Any).encode_result(value)


def test_what_contains_itself_is_too_deep() -> None:
    with pytest.raises(PayloadTooDeep, match=r"^test\.kind: a value contains itself") as caught:
        codec_for(Any).encode((_endless(),), {})
    assert "ids" in caught.value.hint
    with pytest.raises(PayloadTooDeep, match=r"^the result of test\.kind: "):
        codec_for(Any).encode_result(_endless())


NAIVE = datetime(2027, 1, 31, 9)  # noqa: DTZ001 - naive on purpose
AWARE = NAIVE.replace(tzinfo=UTC)


@pytest.mark.parametrize(
    ("hint", "wrap"),
    [
        (datetime, lambda instant: instant),
        (datetime | None, lambda instant: instant),
        (list[datetime], lambda instant: [AWARE, instant]),
        (dict[str, int | datetime], lambda instant: {"a": 1, "b": instant}),
        (tuple[datetime, ...], lambda instant: (AWARE, instant)),
    ],
    ids=["plain", "optional", "list", "dict", "tuple"],
)
def test_a_parameter_that_is_an_instant_needs_its_zone(hint: Any, wrap: Any) -> None:
    codec = codec_for(hint)
    with pytest.raises(NaiveDatetime, match=r"^test\.kind: the datetime at \$\.value") as caught:
        codec.encode((wrap(NAIVE),), {})
    assert "+01:00" in caught.value.hint
    payload = msgspec.json.encode({"value": wrap(NAIVE)})
    with pytest.raises(NaiveDatetime):
        codec.decode(payload)
    assert codec.decode(codec.encode((wrap(AWARE),), {})) == {"value": wrap(AWARE)}
    assert b"date-time" in codec.schema().encode()


def test_what_an_annotation_says_of_an_instant_holds() -> None:
    codec = codec_for(Annotated[datetime, msgspec.Meta(tz=False)])
    assert codec.decode(codec.encode((NAIVE,), {})) == {"value": NAIVE}


@pytest.mark.parametrize("hint", [object, list[object]])
def test_any_value_has_a_schema_that_knows_the_parameters(hint: Any) -> None:
    schema = msgspec.json.decode(codec_for(hint).schema())
    [declared] = schema["$defs"].values()
    assert list(declared["properties"]) == ["value"]
    assert declared["additionalProperties"] is False


@settings(deadline=None)
@given(st.recursive(st.none() | st.booleans() | st.integers() | st.text(), st.lists))
def test_any_plain_value_comes_back_without_types(value: object) -> None:
    codec = codec_for(Any)
    assert codec.decode(codec.encode((value,), {})) == {"value": value}


def test_a_result_at_its_limit() -> None:
    codec = codec_for(Any)
    assert codec.encode_result("x" * (RESULT_BYTES_MAX - 2)) is not None
    with pytest.raises(PayloadTooLarge, match="8,388,609 bytes, the limit is 8,388,608"):
        codec.encode_result("x" * (RESULT_BYTES_MAX - 1))


def test_no_result_is_none() -> None:
    for returns in (None, int, Any):
        codec = codec_for(int, returns=returns)
        assert codec.encode_result(None) is None
        assert codec.decode_result(None) is None


def test_a_result_of_another_type_than_declared_is_one_clear_error() -> None:
    with pytest.raises(InvalidPayload, match=r"the result of test\.kind is not what it declares"):
        codec_for(int, returns=Address).decode_result(b'"no address"')
    assert codec_for(int, returns=None).decode_result(b"[1]") == [1]


def test_the_context_is_no_part_of_the_payload() -> None:
    class Deps: ...

    def plain(ctx: Context, size: int) -> None: ...
    def generic(ctx: Context[Deps], /, size: int) -> None: ...
    def alone(context: Context) -> None: ...
    def without(ctx: int) -> None: ...
    def nothing() -> None: ...

    generic.__annotations__["ctx"] = Context[Deps]
    for function in (plain, generic):
        codec = Codec("k", function)
        assert codec.takes_context
        assert codec.decode(codec.encode((1,), {})) == {"size": 1}
        assert codec.usage() == "it takes k(size: int)"
    assert Codec("k", alone).takes_context
    assert Codec("k", alone).encode((), {}) == b"{}"
    assert not Codec("k", without).takes_context
    assert Codec("k", without).encode((), {"ctx": 1}) == b'{"ctx":1}'
    assert Codec("k", nothing).decode(b"{}") == {}


def test_a_context_in_another_place_is_refused_at_declaration() -> None:
    def last(size: int, ctx: Context) -> None: ...
    def by_name(*, ctx: Context) -> None: ...

    for function in (last, by_name):
        with pytest.raises(TypeError, match="k: the context 'ctx' must be the first parameter"):
            Codec("k", function)


def test_what_has_no_name_is_refused_at_declaration() -> None:
    def many(*values: int) -> None: ...
    def named(**values: int) -> None: ...
    def by_place(value: int, /) -> None: ...

    for function, shown in ((many, "*values"), (named, "**values"), (by_place, "value: int")):
        with pytest.raises(TypeError, match="give every parameter a name") as caught:
            Codec("k", function)
        assert shown in str(caught.value)


@pytest.mark.parametrize("hint", ["Missing", "int |", "datetime.nope", "list[Missing]"])
def test_an_annotation_that_cannot_be_resolved_is_refused_by_name(hint: str) -> None:
    with pytest.raises(TypeError, match=r"^test\.kind: (the|an) annotation .*cannot be resolved"):
        codec_for(hint)


@pytest.mark.parametrize("hint", [Codec, dict[str, Codec], list[Codec] | None])
def test_a_type_that_json_cannot_fill_is_refused_at_declaration(hint: Any) -> None:
    with pytest.raises(TypeError, match=r"^test\.kind: a parameter of type Codec cannot be read"):
        codec_for(hint).schema()


def test_types_that_json_cannot_tell_apart_are_refused_at_declaration() -> None:
    with pytest.raises(TypeError, match=r"^test\.kind: Type unions may not"):
        codec_for(Address | Reading)
