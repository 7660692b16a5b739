"""Reads YAML as people write settings: blocks, lists, flow style, quoted and literal text.

Whatever two readers of YAML understand in two ways is refused with its line and what to write:
``yes`` and ``010``, anchors and tags, text that begins with a sign of YAML's own, a key twice. Of
what is left the meaning is that of JSON: dates are text, and numbers are numbers.
"""

import re
from typing import Any, Final, NamedTuple

import msgspec

from mainspring.domain.errors import InvalidInput

_KEY: Final = re.compile(r"""([^\s#"'\[\]{}&*!|>%@`,?:-][^#"'\[\]{},]*?)\s*:(?=\s|$)""")
_QUOTED: Final = re.compile(r""""(?:[^"\\]|\\.)*"|'(?:[^']|'')*'""")
_COMMENT: Final = re.compile(r"(?:^|\s+)#.*")
_HEADER: Final = re.compile(r"([|>])([+-]?)(?:\s+#.*)?")
_INTEGER: Final = re.compile(r"[-+]?(?:0|[1-9][0-9]*)")
_FLOAT: Final = re.compile(r"[-+]?(?:0|[1-9][0-9]*)\.[0-9]+(?:[eE][-+]?[0-9]+)?")
_ODD_NUMBER: Final = re.compile(
    r"[-+]?(?:0[0-9_]+(?:\.[0-9_]*)?|0[xob][0-9a-f_]+|\.(?:inf|nan)|[0-9]*_[0-9_.]+"
    r"|[0-9]+\.|\.[0-9]+|[0-9]*\.?[0-9]+e[-+]?[0-9]+|[0-9]+(?::[0-5]?[0-9])+)"
)
#: In brackets: text that stands for itself, the name of a member, and comments beside quotes.
_FLOW_TEXT: Final = re.compile(r"(?:[^,\[\]{}:]|:(?! ))*")
_FLOW_NAME: Final = re.compile(r"([^,\[\]{}:\"']+):(?= |$)")
_FLOW_COMMENT: Final = re.compile(rf"({_QUOTED.pattern})|(?:^|\s+)#.*")
_WORDS: Final = {"null": None, "~": None, "": None, "true": True, "false": False}
_TWO_MEANINGS: Final = frozenset({"yes", "no", "on", "off", "y", "n"})
_SIGNS: Final = "&*!|>%@`?"
_DEPTH_MAX: Final = 64


class _Line(NamedTuple):
    number: int
    indent: int
    text: str
    raw: str = ""


def read_yaml(text: str) -> Any:
    """Return what a document says, or raise ``InvalidInput`` with the line that is wrong."""
    reader = _Reader(text)
    reader.skip()
    if reader.line is not None and reader.line.text == "---":
        reader.place += 1
    value = reader.block(0, 0)
    reader.skip()
    if reader.line is not None and reader.line.text == "---":
        raise reader.refusal("a second document begins", "put all of it into one")
    if reader.line is not None:
        raise reader.refusal(f"{reader.line.text[:40]!r} does not belong here", "check the indent")
    return value


class _Reader:
    """Goes through the lines once, and looks one line ahead."""

    def __init__(self, text: str) -> None:
        self.lines: Final = [_line(number, each) for number, each in enumerate(text.split("\n"), 1)]
        self.place = 0

    @property
    def line(self) -> _Line | None:
        return self.lines[self.place] if self.place < len(self.lines) else None

    def skip(self) -> None:
        """Go on to a line that says something."""
        while self.line is not None and (not self.line.text or self.line.text[0] == "#"):
            self.place += 1

    def refusal(self, what: str, hint: str, number: int | None = None) -> InvalidInput:
        line = number or self.lines[min(self.place, len(self.lines) - 1)].number
        return InvalidInput(f"line {line}: {what}", hint=hint, details={"line": line})

    # --- blocks -------------------------------------------------------------------------------

    def block(self, least: int, depth: int) -> Any:
        """Return the value that begins at this line or below, indented at least so far."""
        self.skip()
        if depth > _DEPTH_MAX:
            raise self.refusal(f"more than {_DEPTH_MAX} levels", "nest less")
        line = self.line
        if line is None or line.indent < least:
            return None
        if _is_item(line.text):
            return self._list(line.indent, depth)
        if self._key(line) is not None:
            return self._mapping(line.indent, depth)
        if line.text == "---":
            return None
        self.place += 1
        return self._value(line, line.text, line.indent, depth)

    def _list(self, indent: int, depth: int) -> list[Any]:
        found: list[Any] = []
        while (line := self._next(indent)) is not None and _is_item(line.text):
            rest = line.text[1:].lstrip()
            inner = indent + len(line.text) - len(rest)
            if not rest or rest[0] == "#":
                self.place += 1
                found.append(self.block(indent + 1, depth + 1))
                continue
            # What follows the dash is a block of its own, as if it stood on a line of its own.
            self.lines[self.place] = _Line(line.number, inner, rest)
            found.append(self.block(inner, depth + 1))
        return found

    def _mapping(self, indent: int, depth: int) -> dict[str, Any]:
        found: dict[str, Any] = {}
        while (line := self._next(indent)) is not None:
            split = self._key(line)
            if split is None:
                raise self.refusal(f"{line.text[:40]!r} is no member", "write name: value")
            name, rest = split
            if name in found:
                raise self.refusal(f"{name!r} is here twice", "name each member once")
            self.place += 1
            found[name] = self._member(line, rest, indent, depth)
        return found

    def _member(self, line: _Line, rest: str, indent: int, depth: int) -> Any:
        if rest and rest[0] != "#":
            return self._value(line, rest, indent, depth)
        self.skip()
        is_list_here = self.line is not None and self.line.indent == indent
        if is_list_here and self.line is not None and _is_item(self.line.text):
            return self._list(indent, depth + 1)
        return self.block(indent + 1, depth + 1)

    def _next(self, indent: int) -> _Line | None:
        """Return the next line of a block, nothing at its end."""
        self.skip()
        line = self.line
        if line is None or line.indent < indent:
            return None
        if line.indent > indent:
            raise self.refusal(
                f"{line.text[:40]!r} is indented too far", "align it with the line above"
            )
        return line

    def _key(self, line: _Line) -> tuple[str, str] | None:
        """Return a member's name and what follows its colon."""
        quoted = _QUOTED.match(line.text)
        if quoted is not None:
            after = line.text[quoted.end() :].lstrip()
            if after == ":" or after.startswith(": "):
                return self._unquoted(quoted[0], line.number), after[1:].strip()
            return None
        match = _KEY.match(line.text)
        if match is None:
            return None
        return self._named(match[1], line.number), line.text[match.end() :].strip()

    def _named(self, name: str, number: int) -> str:
        """Return the name of a member; what reads as another value is refused."""
        if not isinstance(self._plain(name, number), str):
            raise self.refusal(f"the name {name} is no text", f'quote it: "{name}"', number)
        return name

    # --- values -------------------------------------------------------------------------------

    def _value(self, line: _Line, text: str, indent: int, depth: int) -> Any:
        """Return the value that a line holds; it may go on below."""
        header = _HEADER.fullmatch(text)
        if header is not None:
            return self._literal(indent, header[1], header[2])
        if text[0] in "[{":
            return self._flow(line, text, depth)
        if text[0] in "\"'":
            return self._alone(line, text)
        plain = _COMMENT.sub("", text)
        self._refuse_more(line, indent)
        return self._plain(plain, line.number)

    def _alone(self, line: _Line, text: str) -> str:
        quoted = _QUOTED.match(text)
        if quoted is None:
            raise self.refusal("a quote is not closed", "close it on the same line", line.number)
        if _COMMENT.sub("", text[quoted.end() :]).strip():
            raise self.refusal(
                "there is something behind the closing quote", "quote all of it", line.number
            )
        return self._unquoted(quoted[0], line.number)

    def _refuse_more(self, line: _Line, indent: int) -> None:
        self.skip()
        if self.line is not None and self.line.indent > indent:
            raise self.refusal(
                f"{self.line.text[:40]!r} goes on with line {line.number}",
                "write text of several lines below a |",
            )

    def _plain(self, text: str, number: int) -> Any:
        folded = text.lower()
        if text and text[0] in _SIGNS:
            raise self.refusal(
                f"{text[:40]!r} begins with {text[0]}", f'quote it: "{text[:40]}"', number
            )
        if folded in _WORDS:
            return _WORDS[folded]
        is_odd = _ODD_NUMBER.fullmatch(folded) and not _FLOAT.fullmatch(text)
        if folded in _TWO_MEANINGS or is_odd:
            hint = f'write true or false, a plain number, or "{text}"'
            raise self.refusal(
                f"{text!r} means different things to different readers", hint, number
            )
        if ": " in text or text.endswith(":"):
            raise self.refusal(f"{text[:40]!r} has a colon", f'quote it: "{text[:40]}"', number)
        if _INTEGER.fullmatch(text):
            return int(text)
        return float(text) if _FLOAT.fullmatch(text) else text

    def _unquoted(self, quoted: str, number: int) -> str:
        if quoted[0] == "'":
            return quoted[1:-1].replace("''", "'")
        try:
            return msgspec.json.decode(quoted, type=str)
        except msgspec.DecodeError:
            hint = "escape as JSON does, or use single quotes, in which nothing is escaped"
            raise self.refusal(f"{quoted[:40]} cannot be read", hint, number) from None

    def _literal(self, indent: int, style: str, chomp: str) -> str:
        """Return the text below ``|`` (as it is) or ``>`` (lines joined)."""
        rows: list[str] = []
        inner = 0
        while (line := self.line) is not None and (not line.text or line.indent > indent):
            if line.text and not inner:
                inner = line.indent
            row = line.raw[inner:] if inner else ""
            if style == ">" and row.startswith(" "):
                raise self.refusal("a line below > is indented further", "use | instead")
            rows.append(row)
            self.place += 1
        text = "\n".join(rows) if style == "|" else _folded(rows)
        kept = text.rstrip("\n")
        is_cut = self.line is None and bool(self.lines[-1].raw)
        if chomp == "-" or is_cut or not kept:
            return kept
        return text + "\n" if chomp == "+" else kept + "\n"

    # --- flow style ---------------------------------------------------------------------------

    def _flow(self, line: _Line, text: str, depth: int) -> Any:
        """Return what brackets hold, also over several lines."""
        text = _without_comment(text)
        while not _is_closed(text):
            self.skip()
            if self.line is None:
                raise self.refusal("a bracket is not closed", "close it", line.number)
            text += " " + _without_comment(self.line.text)
            self.place += 1
        flow = _Flow(self, text, line.number)
        value = flow.value(depth)
        if text[flow.at :].strip():
            raise self.refusal("there is something behind the bracket", "quote it", line.number)
        return value


class _Flow:
    """Goes through text in brackets."""

    def __init__(self, reader: _Reader, text: str, number: int) -> None:
        self.reader = reader
        self.text = text
        self.number = number
        self.at = 0

    def _look(self) -> str:
        while self.at < len(self.text) and self.text[self.at] == " ":
            self.at += 1
        return self.text[self.at : self.at + 1]

    def value(self, depth: int) -> Any:
        if depth > _DEPTH_MAX:
            raise self._wrong(f"more than {_DEPTH_MAX} levels")
        sign = self._look()
        if sign == "[":
            return self._items(depth)
        if sign == "{":
            return self._members(depth)
        if sign in ('"', "'"):
            return self._quoted()
        match = _FLOW_TEXT.match(self.text, self.at)
        assert match is not None, "it matches nothing, too"
        if not match[0].strip() and self._look() in {",", "]"}:
            raise self._wrong("nothing in front of a comma")
        self.at = match.end()
        return self.reader._plain(match[0].strip(), self.number)

    def _quoted(self) -> str:
        quoted = _QUOTED.match(self.text, self.at)
        if quoted is None:
            raise self._wrong("a quote is not closed")
        self.at = quoted.end()
        return self.reader._unquoted(quoted[0], self.number)

    def _items(self, depth: int) -> list[Any]:
        found = []
        self.at += 1
        while self._look() != "]":
            found.append(self.value(depth + 1))
            self._comma("]")
        self.at += 1
        return found

    def _members(self, depth: int) -> dict[str, Any]:
        found: dict[str, Any] = {}
        self.at += 1
        while self._look() != "}":
            name = self._name()
            if name in found:
                raise self._wrong(f"{name!r} is here twice")
            found[name] = self.value(depth + 1)
            self._comma("}")
        self.at += 1
        return found

    def _name(self) -> str:
        if self._look() in ('"', "'"):
            name = self._quoted()
            if self._look() != ":":
                raise self._wrong(f"{name!r} has no value")
            self.at += 1
            return name
        match = _FLOW_NAME.match(self.text, self.at)
        if match is None:
            raise self._wrong(f"{self.text[self.at : self.at + 20]!r} is no member")
        self.at = match.end()
        return self.reader._named(match[1].strip(), self.number)

    def _comma(self, closing: str) -> None:
        sign = self._look()
        if sign == ",":
            self.at += 1
        elif sign != closing:
            raise self._wrong(f"{self.text[self.at : self.at + 20]!r} where , or {closing} belongs")

    def _wrong(self, what: str) -> InvalidInput:
        hint = "write [a, b] and {name: value}; quote what has signs in it"
        return self.reader.refusal(what, hint, self.number)


def _line(number: int, raw: str) -> _Line:
    raw = raw.removesuffix("\r")
    text = raw.strip(" ")
    if text.startswith("\t"):
        raise InvalidInput(
            f"line {number}: a tab in front", hint="indent with spaces", details={"line": number}
        )
    return _Line(number, len(raw) - len(raw.lstrip(" ")), text.rstrip(), raw)


def _is_item(text: str) -> bool:
    return text == "-" or text.startswith("- ")


def _without_comment(text: str) -> str:
    return _FLOW_COMMENT.sub(lambda found: found[1] or "", text)


def _is_closed(text: str) -> bool:
    """Say whether every bracket is closed; those in quotes do not count."""
    level = 0
    for sign in _QUOTED.sub("", text):
        level += (sign in "[{") - (sign in "]}")
        if level == 0 and sign in "]}":
            return True
    return False


def _folded(rows: list[str]) -> str:
    """Join lines with a blank; an empty line is a line's end."""
    text = ""
    for row in rows:
        if row and text and not text.endswith("\n"):
            text += " "
        text += row or "\n"
    return text
