"""From a handler's signature to its payload and back, by types.

The payload of a job is a JSON object with one member for each parameter. What the types say is
checked at submission, by reading back exactly what a worker will read, and again at execution.
Types: everything that msgspec knows (numbers, text, dates, UUID, Decimal, enums, dataclasses,
TypedDict, NamedTuple, attrs, msgspec structs, unions, containers) and pydantic models.

A parameter that is a ``datetime`` takes an instant with its zone; what an annotation of the user's
own says of it (``Annotated[datetime, msgspec.Meta(tz=False)]``) holds, and so do the user's models.
"""

import difflib
import functools
import inspect
import operator
import re
import types
import typing
from collections.abc import Callable, Mapping
from datetime import datetime
from typing import Annotated, Any, Final

import msgspec

from mainspring.app.context import Context
from mainspring.domain.errors import (
    InvalidInput,
    InvalidPayload,
    NaiveDatetime,
    PayloadTooDeep,
    PayloadTooLarge,
)
from mainspring.domain.limits import RESULT_BYTES_MAX
from mainspring.domain.payload import check_finite

_ERRORS_SHOWN_MAX: Final = 3
_PATH: Final = re.compile(r" - at `([^`]+)`$")
_UNKNOWN: Final = re.compile(r"unknown field `([^`]+)`")
_UNIONS: Final = (typing.Union, types.UnionType)
_MISSING: Final = re.compile(r"missing required field `([^`]+)`")
_NO_ZONE: Final = "with a timezone component"
_INSTANT: Final = Annotated[datetime, msgspec.Meta(tz=True)]


class Codec:
    """Encodes a call of one function as JSON, decodes it into keyword arguments."""

    __slots__ = ("_decoder", "_kind", "_returns", "_signature", "_struct", "takes_context")

    def __init__(self, kind: str, function: Callable[..., Any]) -> None:
        """Read the signature; refuse, at declaration, what a payload cannot express."""
        self._kind = kind
        signature = inspect.signature(function)
        hints = _hints(kind, function)
        parameters = list(signature.parameters.values())
        self.takes_context: bool = (
            bool(parameters)
            and parameters[0].kind is not inspect.Parameter.KEYWORD_ONLY
            and _is_context(parameters[0], hints)
        )
        if self.takes_context:
            parameters = parameters[1:]
        self._signature = signature.replace(parameters=parameters)
        self._struct = _struct(kind, parameters, hints)
        try:
            self._decoder = msgspec.json.Decoder(self._struct, dec_hook=_from_plain)
        except TypeError as error:
            raise TypeError(f"{kind}: {error}") from None
        self._returns = hints.get("return", Any)

    def encode(self, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> bytes:
        """Return the payload of a call, validated, or raise ``InvalidPayload``."""
        try:
            bound = self._signature.bind(*args, **kwargs)
        except TypeError as error:
            for name in kwargs:
                if name not in self._signature.parameters:
                    raise self._unknown(name) from None
            raise InvalidPayload(f"{self._kind}: {error}", hint=self.usage()) from None
        payload = _to_json(self._kind, bound.arguments)
        self._read(payload)
        return payload

    def decode(self, payload: bytes) -> dict[str, Any]:
        """Return keyword arguments for the function, or raise ``InvalidPayload``."""
        found = self._read(payload)
        values = ((name, getattr(found, name)) for name in self._struct.__struct_fields__)
        return {name: value for name, value in values if value is not msgspec.UNSET}

    def _read(self, payload: bytes) -> msgspec.Struct:
        try:
            return self._decoder.decode(payload)
        except (msgspec.DecodeError, ValueError, TypeError, RecursionError) as error:
            raise self._explain(error) from None

    def members(self, payload: bytes) -> dict[str, Any]:
        """Return a payload's members as plain JSON values, defaults included."""
        found: dict[str, Any] = msgspec.json.decode(payload)
        for parameter in self._signature.parameters.values():
            if parameter.name not in found and parameter.default is not parameter.empty:
                default = _to_json(self._kind, parameter.default)
                found[parameter.name] = msgspec.json.decode(default)
        return found

    def encode_result(self, value: object) -> bytes | None:
        """Return a result as JSON text; ``None`` stays ``None``."""
        if value is None:
            return None
        result = _to_json(f"the result of {self._kind}", value)
        if len(result) > RESULT_BYTES_MAX:
            raise PayloadTooLarge(
                f"the result of {self._kind} has {len(result):,} bytes, "
                f"the limit is {RESULT_BYTES_MAX:,}",
                hint="store the bulk elsewhere and return a reference",
            )
        return result

    def decode_result(self, result: bytes | None) -> Any:
        """Return a result in the type that the function declares."""
        if result is None:
            return None
        if self._returns in (Any, None, type(None)):
            return msgspec.json.decode(result)
        try:
            return msgspec.json.decode(result, type=self._returns, dec_hook=_from_plain)
        except (msgspec.DecodeError, ValueError, TypeError, RecursionError) as error:
            raise InvalidPayload(
                f"the result of {self._kind} is not what it declares: {error}",
                hint="the handler returned something else than its annotation says",
            ) from None

    def schema(self) -> str:
        """Return the JSON Schema of the payload, as text."""
        try:
            schema = msgspec.json.schema(self._struct, schema_hook=_schema_of)
        except _UnreadableError as error:
            # Told now: else every job of this kind would be accepted, and then die.
            raise TypeError(f"{self._kind}: {error}") from None
        except (TypeError, ValueError):
            schema = self._names()
        schema = self._with_defaults(_hoisted(schema))
        return msgspec.json.encode(schema, order="deterministic").decode()

    def _with_defaults(self, schema: dict[str, Any]) -> dict[str, Any]:
        """Return the schema with what parameters are when a payload leaves them out."""
        root = schema
        while "$ref" in root:
            root = schema["$defs"][root["$ref"].rpartition("/")[2]]
        for name, parameter in self._signature.parameters.items():
            if parameter.default is parameter.empty:
                continue
            try:
                root["properties"][name]["default"] = self.plain(parameter.default)
            except InvalidInput:
                continue  # no payload could say it either
        return schema

    def _names(self) -> dict[str, Any]:
        """Return a schema that knows the parameters, where their types have none."""
        parameters = self._signature.parameters
        needed = [name for name, found in parameters.items() if found.default is found.empty]
        return {
            "type": "object",
            "properties": {name: {} for name in parameters},
            "required": needed,
            "additionalProperties": False,
        }

    @property
    def signature(self) -> inspect.Signature:
        """Return the parameters that a call binds: the function's, without its context."""
        return self._signature

    def plain(self, value: object) -> Any:
        """Return a value as it is after its way through JSON, whatever the parameter says."""
        return msgspec.json.decode(_to_json(f"a value for {self._kind}", value))

    def usage(self) -> str:
        """Return how the call is written: ``greet(name: str)``."""
        shown = self._signature.replace(return_annotation=inspect.Signature.empty)
        return f"it takes {self._kind}{shown}"

    def _unknown(self, name: str, pointer: str = "$") -> InvalidPayload:
        near = difflib.get_close_matches(name, self._struct.__struct_fields__, 1)
        at = "" if pointer == "$" else f" at {pointer}"
        return InvalidPayload(
            f"{self._kind}: there is no parameter {name!r}{at}",
            hint=(f"did you mean {near[0]!r}? " if near else "") + self.usage(),
            details={"pointer": pointer, "kind": self._kind},
        )

    def _explain(self, error: Exception) -> InvalidInput:
        text = str(error)
        where = _PATH.search(text)
        pointer = where.group(1) if where else "$"
        text = _PATH.sub("", text)
        hint = self.usage()
        if _NO_ZONE in text:
            return NaiveDatetime(
                f"{self._kind}: the datetime at {pointer} has no time zone",
                details={"pointer": pointer, "kind": self._kind},
            )
        if unknown := _UNKNOWN.search(text):
            return self._unknown(unknown.group(1), pointer)
        if missing := _MISSING.search(text):
            text = f"the parameter {missing.group(1)!r} is missing"
        at = "" if pointer == "$" else f" at {pointer}"
        return InvalidPayload(
            f"{self._kind}: {text}{at}", hint=hint, details={"pointer": pointer, "kind": self._kind}
        )


def _hints(kind: str, function: Callable[..., Any]) -> dict[str, Any]:
    try:
        return typing.get_type_hints(function, include_extras=True)
    except NameError as error:
        raise TypeError(
            f"{kind}: the annotation {error.name!r} cannot be resolved; import it at module level"
        ) from error
    except (AttributeError, SyntaxError) as error:
        raise TypeError(f"{kind}: an annotation cannot be resolved: {error}") from error


def _is_context(parameter: inspect.Parameter, hints: Mapping[str, Any]) -> bool:
    hint = hints.get(parameter.name)
    # ``Context | None`` too: who calls the plain function in a test may pass nothing.
    choices = typing.get_args(hint) if typing.get_origin(hint) in _UNIONS else (hint,)
    return any(item is Context or typing.get_origin(item) is Context for item in choices)


def _struct(
    kind: str, parameters: list[inspect.Parameter], hints: Mapping[str, Any]
) -> type[msgspec.Struct]:
    fields: list[tuple[str, Any] | tuple[str, Any, Any]] = []
    for parameter in parameters:
        if parameter.kind not in (parameter.POSITIONAL_OR_KEYWORD, parameter.KEYWORD_ONLY):
            raise TypeError(
                f"{kind}: the parameter {parameter} cannot be a member of a JSON object; "
                "give every parameter a name"
            )
        if _is_context(parameter, hints):
            raise TypeError(
                f"{kind}: the context {parameter.name!r} must be the first parameter, "
                "and one that is passed by position"
            )
        hint = _with_zone(hints.get(parameter.name, Any))
        if parameter.default is parameter.empty:
            fields.append((parameter.name, hint))
        else:
            fields.append((parameter.name, hint | msgspec.UnsetType, msgspec.UNSET))
    return msgspec.defstruct(
        _struct_name(kind), fields, kw_only=True, forbid_unknown_fields=True, frozen=True
    )


def _with_zone(hint: Any) -> Any:
    """Return a hint whose datetimes must have a zone; annotated ones stay as the user has them."""
    if hint is datetime:
        return _INSTANT
    origin, parts = typing.get_origin(hint), typing.get_args(hint)
    if origin in (None, Annotated, typing.Literal) or not parts:
        return hint
    changed = tuple(map(_with_zone, parts))
    if changed == parts:
        return hint
    return functools.reduce(operator.or_, changed) if origin in _UNIONS else origin[changed]


def _struct_name(kind: str) -> str:
    words = re.findall(r"[A-Za-z0-9]+", kind)
    return "".join(word.capitalize() for word in words) + "Payload"


def _to_json(what: str, value: object) -> bytes:
    try:
        encoded = msgspec.json.encode(value, enc_hook=_to_plain)
    except RecursionError:
        raise PayloadTooDeep(
            f"{what}: a value contains itself, or is nested too deep",
            hint="flatten it; pass ids instead of objects that refer to each other",
        ) from None
    except (TypeError, ValueError, OverflowError) as error:
        raise InvalidPayload(f"{what}: {error}", hint="use values that JSON can hold") from None
    # The encoder writes NaN and infinity as null; only then is a closer look worth its time.
    if b"null" in encoded:
        check_finite(msgspec.to_builtins(value, enc_hook=_to_plain, str_keys=True))
    return encoded


def _to_plain(value: Any) -> Any:
    """Encode pydantic models without importing pydantic."""
    dump = getattr(value, "model_dump", None)
    if dump is not None:
        # By alias and without computed fields: as ``model_validate`` will read it back.
        return dump(mode="json", by_alias=True, round_trip=True)
    raise TypeError(f"a {type(value).__name__} cannot be written as JSON")


def _from_plain(wanted: type, value: Any) -> Any:
    if wanted is object:
        return value
    validate = getattr(wanted, "model_validate", None)
    if validate is None:
        raise TypeError(f"cannot read a {wanted!r} from JSON")
    try:
        return validate(value)
    except ValueError as error:
        raise ValueError(_in_one_line(error)) from None


def _in_one_line(error: ValueError) -> str:
    """Return what pydantic found, without its paragraphs and links."""
    errors = getattr(error, "errors", None)
    if errors is None:
        return str(error)
    found = errors()[:_ERRORS_SHOWN_MAX]
    return "; ".join(f"{'.'.join(map(str, one['loc'])) or 'value'}: {one['msg']}" for one in found)


class _UnreadableError(Exception):
    def __init__(self, wanted: type) -> None:
        super().__init__(
            f"a parameter of type {wanted.__name__} cannot be read from JSON; use plain types, "
            "a dataclass, a TypedDict, a msgspec Struct or a pydantic model"
        )


def _schema_of(wanted: type) -> dict[str, Any]:
    if wanted is object:
        # Not empty: msgspec takes that for no answer.
        return {"description": "any value"}
    schema = getattr(wanted, "model_json_schema", None)
    if schema is not None:
        # Names of its own: models of different modules may be called alike.
        place = f"{wanted.__module__}.{wanted.__qualname__}".replace(".", "_")
        found = dict(schema(ref_template=f"#/$defs/{place}_{{model}}"))
        inner = found.pop("$defs", {})
        return found | {"$defs": {f"{place}_{name}": inner[name] for name in inner}}
    raise _UnreadableError(wanted)


def _hoisted(schema: dict[str, Any]) -> dict[str, Any]:
    """Move definitions from where a model brought them to the top, where references look."""
    definitions: dict[str, Any] = {}

    def without(node: Any) -> Any:
        if isinstance(node, list):
            return [without(item) for item in node]
        if not isinstance(node, dict):
            return node
        inner = node.get("$defs")
        # A property may be called "$defs" too; definitions are schemas by name.
        if isinstance(inner, dict) and ("type" in node or "$ref" in node or "anyOf" in node):
            definitions.update({name: without(item) for name, item in inner.items()})
            node = {name: item for name, item in node.items() if name != "$defs"}
        return {name: without(item) for name, item in node.items()}

    plain: dict[str, Any] = without(schema)
    return plain | {"$defs": definitions} if definitions else plain
