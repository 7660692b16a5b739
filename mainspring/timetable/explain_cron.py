"""A cron expression as a sentence: ``at 09:00 on weekdays``."""

from functools import partial
from itertools import pairwise

from mainspring.timetable.civil import bits_of
from mainspring.timetable.cron import split_fields
from mainspring.timetable.cron_days import MonthDays, WeekDays
from mainspring.timetable.cron_fields import (
    HOUR,
    MINUTE,
    MONTH,
    SECOND,
    YEAR,
    month_days,
    plain_mask,
    week_days,
)
from mainspring.timetable.words import (
    WEEKDAYS,
    clock,
    clock_list,
    every,
    joined,
    months,
    numbers,
    ordinal,
    weekdays,
)

_ALL_MINUTES = (1 << 60) - 1
_ALL_HOURS = (1 << 24) - 1
_ALL_MONTHS = (1 << 12) - 1


def cron_sentence(text: str) -> str:
    """Return what an expression says; it must be one that ``parse_cron`` takes."""
    texts = split_fields(text)
    seconds = plain_mask(SECOND, texts.second)
    minutes = plain_mask(MINUTE, texts.minute)
    hours = plain_mask(HOUR, texts.hour)
    parts = [
        _times(seconds, minutes, hours),
        _days(month_days(texts.day), week_days(texts.weekday)),
    ]
    month = plain_mask(MONTH, texts.month)
    if month != _ALL_MONTHS:
        parts.append(months(month))
    if texts.year != "*":
        parts.append(f"of {numbers([1970 + bit for bit in bits_of(plain_mask(YEAR, texts.year))])}")
    is_dense = not parts[0].startswith("at ") or hours == _ALL_HOURS
    if parts[1] == "every day" and (is_dense or len(parts) > 2):
        parts.pop(1)
    return " ".join(parts)


def _times(seconds: int, minutes: int, hours: int) -> str:
    second = seconds.bit_length() - 1
    if seconds != 1 << second:
        return f"{_units(seconds, 60, 'second')} {_times_in_hours(minutes, hours, 0)}".replace(
            " every minute", ""
        )
    return _times_in_hours(minutes, hours, second)


def _times_in_hours(minutes: int, hours: int, second: int) -> str:
    product = minutes * sum(1 << 60 * hour for hour in bits_of(hours))
    listed = clock_list(product, second)
    if listed:
        return listed
    tail = f", at second {second}" if second else ""
    if hours == _ALL_HOURS:
        return _in_every_hour(minutes) + tail
    if minutes.bit_count() == 1:
        return _at_one_minute(minutes.bit_length() - 1, hours) + tail
    return f"{_units(minutes, 60, 'minute')} {_hour_spans(hours)}{tail}"


def _in_every_hour(minutes: int) -> str:
    if minutes == 1:
        return "every hour"
    if minutes.bit_count() == 1:
        return f"at {minutes.bit_length() - 1} minutes past every hour"
    return _units(minutes, 60, "minute")


def _at_one_minute(minute: int, hours: int) -> str:
    step = _step(hours, 24)
    if step and 24 % step == 0 and hours & 1:
        past = f" at {minute} minutes past" if minute else ""
        return f"every {step} hours{past}, from {clock(minute)}"
    past = f"{minute} minutes past the hour" if minute else "the full hour"
    return f"at {past} {_hour_spans(hours)}"


def _units(mask: int, size: int, unit: str) -> str:
    """Return ``every 15 minutes`` where a step goes round evenly, else the list."""
    step = _step(mask, size)
    first = bits_of(mask)[0]
    if step and size % step == 0 and first < step:
        late = f", from {unit} {first}" if first else ""
        return every(step, unit) + late
    if mask.bit_count() == 1:
        return f"at {unit} {first}"
    return f"at {unit}s {numbers(bits_of(mask))}"


def _step(mask: int, size: int) -> int:
    """Return the step of evenly spaced bits that reach to the end, else 0."""
    values = bits_of(mask)
    if len(values) < 2:
        return 0
    step = values[1] - values[0]
    even = all(b - a == step for a, b in pairwise(values))
    return step if even and values[-1] + step >= size else 0


def _hour_spans(hours: int) -> str:
    values = bits_of(hours)
    if values == list(range(values[0], values[-1] + 1)):
        return f"from {values[0]:02}:00 to {values[-1]:02}:59"
    return f"in the hours {numbers(values)}"


def _days(in_month: MonthDays, in_week: WeekDays) -> str:
    every_month_day = in_month == MonthDays()
    every_week_day = in_week == WeekDays() or in_week.plain == 127
    month_text = _month_days(in_month)
    week_text = _week_days(in_week)
    if every_month_day or (in_month.starred and in_month.plain == (1 << 31) - 1):
        return "every day" if every_week_day else week_text
    if every_week_day and in_week.starred:
        return month_text
    word = "if it is" if in_month.starred or in_week.starred else "or"
    if word == "or":
        return f"{month_text} or {week_text}"
    return f"{month_text} {word} {week_text.removeprefix('on ')}"


def _month_days(field: MonthDays) -> str:
    parts: list[str] = []
    step = _step(field.plain, 31)
    if step > 1 and field.plain & 1 and field.starred:
        parts.append(f"every {ordinal(step)} day of the month")
    elif field.plain:
        values = [bit + 1 for bit in bits_of(field.plain)]
        parts.append(f"{'day' if len(values) == 1 else 'days'} {numbers(values)} of the month")
    parts += map(_before_last, field.before_last)
    parts += [f"the weekday nearest day {day}" for day in field.nearest]
    if field.last_weekday:
        parts.append("the last weekday of the month")
    return f"on {joined(parts)}"


def _before_last(days: int) -> str:
    if not days:
        return "the last day of the month"
    return f"the day {days} before the last of the month"


def _week_days(field: WeekDays) -> str:
    named = partial("the {} {} of the month".format)
    parts = [named(ordinal(number), WEEKDAYS[day]) for day, number in field.numbered]
    parts += [named("last", WEEKDAYS[day]) for day in field.last]
    plain = weekdays(field.plain) if field.plain else ""
    if not parts:
        return plain
    special = f"on {joined(parts)}"
    return f"{plain} and {special}" if plain else special
