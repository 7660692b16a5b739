"""How trouble is told: what, why, what next; and the exit status that goes with it."""

import difflib
import sys
import traceback
import typing
from typing import TYPE_CHECKING, Final

from mainspring.cli.options import Color, wants_color
from mainspring.cli.text import printable, styled
from mainspring.domain.errors import InvalidInput, MainspringError, UnknownOption

if TYPE_CHECKING:
    from cyclopts import CycloptsError

INTERRUPTED: Final = 130
_MESSAGE_CHARACTERS_MAX: Final = 1_000
READER_GONE: Final = 141

#: The reference page, ``help exit-codes`` and the tests come from this table.
EXIT_CODES: Final = {
    0: "done",
    1: "failed: something went wrong that no other status names",
    2: "usage or bad input: nothing was changed",
    3: "not found",
    4: "not allowed",
    5: "the awaited job ended unsuccessfully (dead, cancelled, expired, skipped)",
    6: "conflict or precondition: the present state does not allow it; or a limit was reached",
    7: "the wait timed out; the job goes on",
    8: "findings: a check found something to do",
    9: "store or server unreachable, or not writable",
    INTERRUPTED: "interrupted (Ctrl-C); what was submitted goes on",
    READER_GONE: "whoever read the output went away",
}


def show_error(error: MainspringError, *, color: Color = "auto", debug: bool = False) -> None:
    """Print an error: ``error: what [code]``, its facts, and ``next: what to do``."""
    if sys.stderr is None:
        return
    if debug:
        traceback.print_exception(error, file=sys.stderr)
    tinted = wants_color(color, error=True)
    message = _shortened(printable(error.message, lines=True))
    what, *more = message.splitlines() or [""]
    label = styled("error:", "red", color=tinted)
    code = styled(f"[{error.code}]", "dim", color=tinted)
    print(f"{label} {what}  {code}", file=sys.stderr)
    for text in more:
        print(f"  {text}", file=sys.stderr)
    if debug:
        for name, value in error.details.items():
            print(f"  {name}: {printable(str(value))}", file=sys.stderr)
    hint = printable(error.hint)
    print(f"  {styled('next:', 'bold', color=tinted)} {hint}", file=sys.stderr, flush=True)


def _shortened(message: str) -> str:
    """Keep both ends of what repeats a long input: the option comes first, the reason last."""
    if len(message) <= _MESSAGE_CHARACTERS_MAX:
        return message
    half = _MESSAGE_CHARACTERS_MAX // 2
    return f"{message[:half]} … {message[-half:]}"


def unexpected(error: BaseException) -> MainspringError:
    """Return an error for what should not have happened, or ours that came in a group."""
    while isinstance(error, BaseExceptionGroup):
        error = error.exceptions[0]
    if isinstance(error, MainspringError):
        return error
    found = MainspringError(f"{type(error).__name__}: {error}")
    found.__cause__ = error
    return found


def from_usage(error: "CycloptsError") -> MainspringError:
    """Translate what the parser says of a command line."""
    from cyclopts import CoercionError, UnknownCommandError

    plain = _in_our_words(error)
    hint = " ".join(("mainspring", *(error.command_chain or ()), "--help"))
    sentence, _, suggestion = str(error).strip().partition(" Did you mean ")
    sentence = plain or sentence.partition(" Available commands:")[0].rstrip(".")
    near = suggestion.partition("?")[0].strip('"')
    if isinstance(error, CoercionError) and error.token is not None and error.argument is not None:
        choices = [str(choice) for choice in typing.get_args(error.argument.hint)]
        near = next(iter(difflib.get_close_matches(error.token.value, choices, 1, 0.5)), near)
    if near:
        hint = f"did you mean {near}?  ({hint})"
    kind = UnknownOption if isinstance(error, UnknownCommandError) else InvalidInput
    return kind(sentence[:1].lower() + sentence[1:], hint=hint)


def _in_our_words(error: "CycloptsError") -> str:
    """Return what is wrong where the parser says it in words of its own, else nothing."""
    from cyclopts import CoercionError, MissingArgumentError, UnusedCliTokensError

    command = " ".join(error.command_chain or ()) or "mainspring"
    if isinstance(error, UnusedCliTokensError):
        return f"{command} takes no {(error.unused_tokens or [''])[0]!r}"
    if isinstance(error, MissingArgumentError) and error.argument is not None:
        name = error.argument.name
        return f"{name} needs a value" if name.startswith("-") else f"{command}: {name} is missing"
    if isinstance(error, CoercionError) and error.target_type is int and error.token is not None:
        name = error.token.keyword or (error.argument.name if error.argument else command)
        return f"{name}: {error.token.value!r} is not a whole number"
    return ""
