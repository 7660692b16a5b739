"""Ids: 128 bits, ordered by time (UUIDv7), shown as a prefix and 26 characters of base 32.

Inside the product an id is its 16 bytes. The shown form appears at the edges only: command line,
wire, logs, messages. Making a new id needs a clock and dice, so it lives in ``ports.entropy``.
"""

from datetime import UTC, datetime, timedelta
from typing import Final, NewType

from mainspring.domain.errors import InvalidId

JobId = NewType("JobId", bytes)
WorkerId = NewType("WorkerId", bytes)

JOB: Final = "job"
WORKER: Final = "wrk"
SCHEDULE: Final = "sch"
BACKFILL: Final = "bfl"
OPERATION: Final = "op"
DAG: Final = "dag"
DAG_RUN: Final = "run"
WEBHOOK: Final = "whk"
PREFIXES: Final = frozenset({JOB, WORKER, SCHEDULE, BACKFILL, OPERATION, DAG, DAG_RUN, WEBHOOK})

_ALPHABET: Final = "0123456789ABCDEFGHJKMNPQRSTVWXYZ"
# Crockford's reading rules: people type O for 0 and I or L for 1, in either case.
_VALUE_OF: Final = (
    {letter: value for value, letter in enumerate(_ALPHABET)}
    | {letter.lower(): value for value, letter in enumerate(_ALPHABET)}
    | {"O": 0, "o": 0, "I": 1, "i": 1, "L": 1, "l": 1}
)
#: The same letters in the alphabet of ``int(text, 32)``, which is ten times faster than a loop.
_PLAIN: Final = str.maketrans(
    {letter: "0123456789abcdefghijklmnopqrstuv"[value] for letter, value in _VALUE_OF.items()}
    | {"U": "!", "u": "!"}
)
_PAIRS: Final = tuple(a + b for a in _ALPHABET for b in _ALPHABET)
_SHOWN_LENGTH: Final = 26
ID_BYTES: Final = 16
_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)


def show(prefix: str, raw: bytes) -> str:
    """Return the shown form, for example ``job_01JD3K…`` (26 characters after the prefix)."""
    number = int.from_bytes(raw, "big")
    # Two characters (ten bits) at a time: half the steps of the letter-wise loop.
    pairs = [_PAIRS[(number >> shift) & 1023] for shift in range(120, -1, -10)]
    return f"{prefix}_{''.join(pairs)}"


def to_base_32(number: int, characters: int) -> str:
    """Return a number as so many characters of Crockford's base 32."""
    return "".join(_ALPHABET[number >> shift & 31] for shift in range(5 * (characters - 1), -1, -5))


def from_base_32(text: str) -> int | None:
    """Read a number as people type it; ``None`` where a character is none of the alphabet."""
    number = 0
    for letter in text:
        if letter not in _VALUE_OF:
            return None
        number = number << 5 | _VALUE_OF[letter]
    return number


def show_job(job_id: bytes) -> str:
    """Return the shown form of a job's id."""
    return show(JOB, job_id)


def show_attempt(job_id: bytes, attempt: int) -> str:
    """Return ``job_…:3``, the name of one attempt."""
    return f"{show(JOB, job_id)}:{attempt}"


def parse(prefix: str, text: str) -> bytes:
    """Read the shown form back into 16 bytes, or raise ``InvalidId`` saying what is wrong."""
    given: object = text
    if not isinstance(given, str):
        raise InvalidId(
            f"{given!r} is not an id", hint=f"give its text, which begins with {prefix}_"
        )
    found, separator, digits = text.partition("_")
    if not separator or found != prefix:
        raise InvalidId(
            f"{text!r} is not the id of a {prefix}: it must begin with {prefix}_",
            hint=f"copy the whole id, for example {prefix}_01JD3M0V5T7QK4C8R2N6W9XYZA",
        )
    if len(digits) != _SHOWN_LENGTH:
        raise InvalidId(
            f"{text!r} has {len(digits)} characters after {prefix}_, an id has {_SHOWN_LENGTH}",
            hint="copy the whole id",
        )
    plain = digits.translate(_PLAIN)
    # int() would take signs, blanks and other alphabets as well.
    if not (plain.isascii() and plain.isalnum()):
        raise _strange(prefix, text, digits)
    number = int(plain, 32)
    if number >> 128:
        raise InvalidId(f"{text!r} is larger than any id", hint="copy the whole id")
    return number.to_bytes(ID_BYTES, "big")


def _strange(prefix: str, text: str, digits: str) -> InvalidId:
    """Return the error for the first letter that no id contains."""
    position, letter = next(
        (position, letter) for position, letter in enumerate(digits) if letter not in _VALUE_OF
    )
    return InvalidId(
        f"{text!r} contains {letter!r} at position {len(prefix) + 2 + position}, "
        "which no id contains",
        hint="an id has digits and letters without U",
    )


def window(prefix: str, text: str) -> tuple[bytes, bytes | None] | None:
    """Return the ids that begin with this shown text: the first, and the one after the last.

    ``None`` in place of the latter: there is none after it. ``None`` alone: no id begins so.
    """
    found, separator, digits = text.partition("_")
    if not separator or found != prefix or len(digits) > _SHOWN_LENGTH:
        return None
    number = from_base_32(digits)
    if number is None:
        return None
    rest = 5 * (_SHOWN_LENGTH - len(digits))
    first, after = number << rest, (number + 1) << rest
    if first >> 128:
        return None
    end = None if after >> 128 else after.to_bytes(ID_BYTES, "big")
    return first.to_bytes(ID_BYTES, "big"), end


def parse_job(text: str) -> JobId:
    """Read a job's id; ``job_…:3`` (an attempt of it) names the job as well."""
    given: object = text
    plain = text.partition(":")[0] if isinstance(given, str) else text
    return JobId(parse(JOB, plain))


def oldest_at(instant: datetime) -> bytes:
    """Return the smallest id that may have been made at an instant."""
    count_ms = (instant - _EPOCH) // timedelta(milliseconds=1)
    return max(0, count_ms).to_bytes(6, "big") + bytes(10)


def created_at(raw: bytes) -> datetime:
    """Return the instant at which a time-ordered id was made, to the millisecond."""
    return _EPOCH + timedelta(milliseconds=int.from_bytes(raw[:6], "big"))
