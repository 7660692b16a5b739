"""Time that stands still until a test moves it."""

from datetime import UTC, datetime, timedelta
from typing import Final

#: Where a clock begins unless told otherwise. The microseconds are there to be lost by mistake.
BEGINNING: Final = datetime(2027, 3, 14, 9, 26, 53, 589_793, tzinfo=UTC)


class SettableClock:
    """A clock for stores and roles under test: aware, in UTC, and moved by hand only."""

    def __init__(self, now: datetime = BEGINNING) -> None:
        self._now = _in_utc(now)

    def now(self) -> datetime:
        """Return the instant at which this clock stands."""
        return self._now

    def advance(self, by: float | timedelta) -> datetime:
        """Move on by seconds or a duration; return the new instant."""
        self._now += by if isinstance(by, timedelta) else timedelta(seconds=by)
        return self._now

    def set(self, instant: datetime) -> datetime:
        """Jump to an instant, before or after the present one."""
        self._now = _in_utc(instant)
        return self._now


def _in_utc(instant: datetime) -> datetime:
    if instant.tzinfo is None:
        raise ValueError(f"{instant} has no time zone")
    return instant.astimezone(UTC)
