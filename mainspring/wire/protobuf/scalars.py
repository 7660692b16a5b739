"""Instants, ids, texts and numbers: how they travel, and what is refused of them."""

from datetime import UTC, datetime, timedelta
from typing import Final

from google.protobuf.timestamp_pb2 import Timestamp

from mainspring.domain.errors import InvalidId, InvalidInput
from mainspring.domain.ids import SCHEDULE, WORKER, parse, parse_job, show, show_attempt, show_job
from mainspring.domain.job import Priority

_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
_DAY_SECONDS: Final = 86_400
_INT64_MAX: Final = 2**63 - 1
_INT32_MAX: Final = 2**31 - 1
_ATTEMPT_DIGITS_MAX: Final = 10
_UNSPECIFIED: Final = 0

__all__ = [
    "attempt_of",
    "instant",
    "job_of",
    "kept",
    "priority_of",
    "priority_word",
    "schedule_of",
    "seconds_stamp",
    "show_attempt",
    "show_job",
    "show_schedule",
    "show_worker",
    "stamp",
    "storable_int",
    "utf8",
    "worker_of",
]


def stamp(at: datetime) -> Timestamp:
    """Return an instant as it travels, to the microsecond."""
    passed = at - _EPOCH
    seconds = passed.days * _DAY_SECONDS + passed.seconds
    return Timestamp(seconds=seconds, nanos=passed.microseconds * 1_000)


def seconds_stamp(seconds: int) -> Timestamp:
    """Return an instant that is known to the second."""
    return Timestamp(seconds=seconds)


def instant(given: Timestamp, field: str) -> datetime:
    """Read an instant, or raise ``InvalidInput`` where it is none of the calendar."""
    try:
        return _EPOCH + timedelta(seconds=given.seconds, microseconds=given.nanos // 1_000)
    except OverflowError:
        raise InvalidInput(
            f"{field}: {given.seconds} seconds since 1970 are beyond the calendar",
            details={"field": field},
        ) from None


def utf8(text: str) -> str:
    """Return a text that can travel: what UTF-8 cannot carry is replaced."""
    return text if text.isascii() else text.encode("utf-8", "replace").decode()


def kept(text: str, characters_max: int) -> str:
    """Return a text that every store can keep."""
    return text[:characters_max].replace("\0", "\ufffd")


def storable_int(number: int) -> int:
    """Return a number that fits into 64 bits, the nearest one where it does not."""
    return max(-_INT64_MAX, min(number, _INT64_MAX))


def attempt_of(text: str) -> tuple[bytes, int]:
    """Read ``job_…:3``."""
    job, separator, number = text.partition(":")
    if not separator or not _is_number(number):
        raise InvalidId(
            f"{text[:80]!r} is not the id of an attempt",
            hint="send attempt_id as it came: a job's id, a colon, the attempt's number",
        )
    return parse_job(job), int(number)


def _is_number(text: str) -> bool:
    is_short = 0 < len(text) <= _ATTEMPT_DIGITS_MAX
    return is_short and text.isascii() and text.isdecimal() and int(text) <= _INT32_MAX


def job_of(text: str) -> bytes:
    """Read a job's id."""
    return parse_job(text[:80])


def worker_of(text: str) -> bytes:
    """Read a worker's id."""
    return parse(WORKER, text[:80])


def schedule_of(text: str) -> bytes:
    """Read a schedule's id."""
    return parse(SCHEDULE, text[:80])


def show_worker(worker_id: bytes) -> str:
    """Return a worker's id as it travels."""
    return show(WORKER, worker_id)


def show_schedule(schedule_id: bytes) -> str:
    """Return a schedule's id as it travels."""
    return show(SCHEDULE, schedule_id)


def priority_word(priority: int) -> int:
    """Return a priority as it travels: zero means there that none was given."""
    return priority + 1


def priority_of(given: int, field: str) -> int | None:
    """Read a priority; nothing when none was given."""
    if given == _UNSPECIFIED:
        return None
    try:
        return int(Priority(given - 1))
    except ValueError:
        raise InvalidInput(
            f"{field}: there is no priority {given}",
            hint="use CRITICAL, HIGH, NORMAL or LOW",
            details={"field": field},
        ) from None
