"""Cron expressions, compiled to whole numbers: a bit for each minute of the day, days by month.

``min hour dom mon dow``; six fields begin with seconds, seven end with a year. The whole grammar
is in ``docs/concepts/time.md``. Both day fields restricted: either may match. One of them begins
with ``*`` or ``?``: both must match, as in Vixie's cron.
"""

import difflib
from functools import lru_cache
from typing import Final, NamedTuple

from mainspring.domain.errors import InvalidSchedule, NeverFires
from mainspring.domain.limits import CRON_CHARACTERS_MAX
from mainspring.timetable.civil import DAY as DAY_SECONDS
from mainspring.timetable.civil import NEVER, WALL_END, bits_of, lowest
from mainspring.timetable.cron_days import DaySpec
from mainspring.timetable.cron_fields import (
    DAY,
    HOUR,
    MINUTE,
    MONTH,
    SECOND,
    WEEKDAY,
    YEAR,
    Field,
    month_days,
    plain_mask,
    week_days,
)
from mainspring.timetable.refusals import Refusal, check_text, shortened
from mainspring.timetable.walls import SEARCH_DAYS, WallRule

ALIASES: Final = {
    "@yearly": "0 0 1 1 *",
    "@annually": "0 0 1 1 *",
    "@monthly": "0 0 1 * *",
    "@weekly": "0 0 * * 0",
    "@daily": "0 0 * * *",
    "@midnight": "0 0 * * *",
    "@hourly": "0 * * * *",
}
#: Field orders by their number.
FIELDS: Final[dict[int, tuple[Field, ...]]] = {
    5: (MINUTE, HOUR, DAY, MONTH, WEEKDAY),
    6: (SECOND, MINUTE, HOUR, DAY, MONTH, WEEKDAY),
    7: (SECOND, MINUTE, HOUR, DAY, MONTH, WEEKDAY, YEAR),
}
_ALL_HOURS: Final = (1 << 24) - 1


class _NoSuchDate(Exception):
    """The day fields match no day at all."""


class CronTexts(NamedTuple):
    """The fields of an expression as they were written; the ones left out are ``0`` and ``*``."""

    second: str
    minute: str
    hour: str
    day: str
    month: str
    weekday: str
    year: str


class Cron(WallRule):
    """A compiled expression; ask ``cron(text)`` for it."""

    __slots__ = ("_clock", "_days", "_first", "_is_daily", "text")

    def __init__(self, text: str, texts: CronTexts) -> None:
        """Compile fields that were split already."""
        minutes = plain_mask(MINUTE, texts.minute)
        hours = plain_mask(HOUR, texts.hour)
        self.text = text
        self.seconds = plain_mask(SECOND, texts.second)
        # A bit for each minute of each hour: 60-bit digits, so that the product carries nothing.
        self._clock = minutes * _spread(hours)
        self._days = _days(texts.day, texts.month, texts.weekday, texts.year)
        self._is_daily = self._days.every_day and self.seconds == 1
        self._first = lowest(self._clock) * 60 + lowest(self.seconds)
        self.every_hour = hours == _ALL_HOURS
        self.cadence = self.every_hour or texts.minute[0] == "*"

    def __repr__(self) -> str:
        return f"Cron({self.text!r})"

    def clock(self) -> int:
        return self._clock

    def times(self, day: int) -> int:
        return self._clock if self._days.day_from(day) == day else 0

    def day_from(self, day: int) -> int:
        return self._days.day_from(day)

    def day_until(self, day: int) -> int:
        return self._days.day_until(day)

    def next_wall(self, wall: int) -> int:
        """Return the first matching wall time that is not before this one, else ``NEVER``.

        The one place where speed decided the form: no call but one, nothing allocated but ints.
        """
        if self.seconds != 1 or not 0 <= wall < WALL_END - DAY_SECONDS:
            return super().next_wall(wall)
        second = wall % DAY_SECONDS
        minute = (second + 59) // 60
        bits = self._clock >> minute
        if self._is_daily:
            if bits:
                return wall - second + (minute + (bits & -bits).bit_length() - 1) * 60
            return wall - second + DAY_SECONDS + self._first
        day = wall // DAY_SECONDS
        found = self._days.day_from(day)
        if found == day:
            if bits:
                return wall - second + (minute + (bits & -bits).bit_length() - 1) * 60
            found = self._days.day_from(day + 1)
        return found * DAY_SECONDS + self._first if found - day <= SEARCH_DAYS else NEVER


@lru_cache(maxsize=65_536)
def cron(text: str) -> Cron:
    """Return the compiled expression, from what was compiled lately if it can."""
    return parse_cron(text)


def parse_cron(text: str) -> Cron:
    """Compile an expression, or raise ``InvalidSchedule`` with field, position and suggestion."""
    try:
        return Cron(text, split_fields(text))
    except (Refusal, _NoSuchDate, ValueError, AttributeError, TypeError):
        _refuse(text)
        raise


def split_fields(text: str) -> CronTexts:
    """Return the fields of an expression or alias; what is missing gets its default."""
    if len(text) > CRON_CHARACTERS_MAX or not (text.isascii() and text.isprintable()):
        check_text("cron", text, CRON_CHARACTERS_MAX)
    if "=" in text:
        raise _zone_inside(text)
    if text[:1] == "@":
        text = _alias(text)
    fields = text.split()
    if len(fields) == 5:
        return CronTexts._make(("0", *fields, "*"))
    if len(fields) == 6:
        return CronTexts._make((*fields, "*"))
    if len(fields) == 7:
        return CronTexts._make(fields)
    raise _wrong_count(text, len(fields))


@lru_cache(maxsize=4096)
def _spread(hours: int) -> int:
    return sum(1 << 60 * hour for hour in bits_of(hours))


@lru_cache(maxsize=16_384)
def _days(day: str, month: str, weekday: str, year: str) -> DaySpec:
    """Return the shared day specification; one that matches no day at all is refused."""
    in_month, in_week = month_days(day), week_days(weekday)
    months = plain_mask(MONTH, month)
    years = None if year == "*" else plain_mask(YEAR, year)
    if day == weekday == "?":
        raise Refusal(0, "?", "? may not stand in both day fields", "write * in one of them")
    spec = DaySpec(in_month, in_week, months, years)
    if spec.day_from(0) == NEVER:
        raise _NoSuchDate
    return spec


def _alias(text: str) -> str:
    found = ALIASES.get(text.strip().lower())
    if found:
        return found
    word = text.split(maxsplit=1)[0].lower()
    if word == "@reboot":
        hint = "a schedule knows no start of a machine; submit a job from the program that starts"
    elif word == "@every":
        hint = "an interval is not a cron expression: write every 90s"
    else:
        near = difflib.get_close_matches(word[:16], ALIASES, 2)
        hint = f"did you mean {' or '.join(near)}?" if near else f"use one of {', '.join(ALIASES)}"
    raise InvalidSchedule(
        f"cron: there is no {shortened(word)} (position 0)",
        hint=hint,
        details={"field": "cron", "position": 0, "token": shortened(word)},
    )


def _wrong_count(text: str, count: int) -> InvalidSchedule:
    message = f"cron: {count} fields; an expression has 5, 6 (seconds first) or 7 (year last)"
    hint = "minute hour day-of-month month day-of-week, for example: 0 9 * * MON-FRI"
    return InvalidSchedule(
        message, hint=hint, details={"field": "cron", "position": len(text.rstrip())}
    )


def _zone_inside(text: str) -> InvalidSchedule:
    position = text.index("=")
    given = shortened(text[position + 1 :].partition(" ")[0])
    hint = "an expression has no = in it"
    if text[:position].strip().upper() in {"TZ", "CRON_TZ"}:
        hint = f"give the zone beside the expression: zone {given}"
    details = {"field": "cron", "position": position, "token": given}
    return InvalidSchedule(
        f"cron: = is not allowed (position {position})", hint=hint, details=details
    )


def _refuse(text: str) -> None:
    """Raise for the first thing in the text that cannot be read; return when there is none."""
    check_text("cron", text, CRON_CHARACTERS_MAX)
    texts = split_fields(text)
    plain = ALIASES.get(text.strip().lower(), text)
    count = len(plain.split())
    position = 0
    places: dict[Field, int] = {}
    for field in FIELDS[count]:
        written = plain[position:].split(maxsplit=1)[0]
        position = places[field] = plain.index(written, position)
        try:
            _read(field, written)
        except Refusal as refusal:
            raise refusal.moved(position).error(field.name) from None
        position += len(written)
    try:
        _days(texts.day, texts.month, texts.weekday, texts.year)
    except Refusal as refusal:
        raise refusal.moved(plain.rindex("?")).error(WEEKDAY.name) from None
    except _NoSuchDate:
        raise _no_such_date(texts, places[DAY]) from None


def _no_such_date(texts: CronTexts, position: int) -> NeverFires:
    day = shortened(texts.day)
    found = f"{day} of month {shortened(texts.month)}"
    if texts.weekday in {"*", "?"} or not _must_both(texts):
        found += " does not exist"
        hint = "use a day that the month has, or L for its last day"
    else:
        found += f" is never the weekday {shortened(texts.weekday)}"
        hint = "both day fields must match, since one of them begins with *"
    if texts.year != "*":
        found += f" in {shortened(texts.year)}"
    return NeverFires(
        f"{DAY.name}: {found} (position {position})",
        hint=hint,
        details={
            "field": DAY.name,
            "position": position,
            "token": day,
            "reason": "no_such_date",
        },
    )


def _must_both(texts: CronTexts) -> bool:
    return month_days(texts.day).starred or week_days(texts.weekday).starred


def _read(field: Field, text: str) -> None:
    if field is DAY:
        month_days(text)
    elif field is WEEKDAY:
        week_days(text)
    else:
        plain_mask(field, text)
