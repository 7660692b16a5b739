"""What a handler may raise to say how its attempt ended. Any other exception means: retry."""

from datetime import timedelta

from mainspring.app.durations import milliseconds


class Fail(Exception):
    """Give up at once: no retry, the job rests as a dead letter.

    >>> raise Fail("card declined")
    Traceback (most recent call last):
    mainspring.app.signals.Fail: card declined
    """


class RetryAfter(Exception):
    """Try again after exactly this long, instead of the back-off. Counts as a try."""

    def __init__(self, delay: str | timedelta, reason: str = "") -> None:
        """Keep the delay: ``"30s"`` or a ``timedelta``."""
        self.delay_ms: int = milliseconds(delay, name="delay")
        self.reason = reason
        super().__init__(reason or f"retry after {self.delay_ms} ms")


class Snooze(Exception):
    """Not now: call again later. Does not count as a try."""

    def __init__(self, delay: str | timedelta, reason: str = "") -> None:
        """Keep the delay: ``"10m"`` or a ``timedelta``."""
        self.delay_ms: int = milliseconds(delay, name="delay")
        self.reason = reason
        super().__init__(reason or f"snoozed for {self.delay_ms} ms")


class Cancelled(Exception):
    """Raised inside a handler by ``ctx.raise_if_cancelled()``; let it pass."""
