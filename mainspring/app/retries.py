"""``Retry``: how failures of a handler are retried."""

import msgspec

from mainspring.domain.errors import InvalidInput
from mainspring.domain.job import (
    DEFAULT_BACKOFF,
    DEFAULT_MAX_ATTEMPTS,
    DEFAULT_MAX_CRASHES,
    Backoff,
)


class Retry(msgspec.Struct, frozen=True, kw_only=True):
    """How failures of a handler are retried.

    >>> Retry(max_attempts=6, wait=backoff.exponential("2s", cap="5m", jitter="full"))
    """

    max_attempts: int = DEFAULT_MAX_ATTEMPTS
    #: How long to rest before the next try: ``backoff.exponential(...)``, ``backoff.fixed(...)``.
    wait: Backoff = DEFAULT_BACKOFF
    #: How many times the job may take its process down before it is poison.
    max_crashes: int = DEFAULT_MAX_CRASHES
    #: Only these exceptions are retried; an empty tuple means every one.
    on: tuple[type[BaseException], ...] = ()


def check_retry(given: object) -> Retry:
    """Return what was given as ``retry=``, or raise naming the part that is none."""
    if not isinstance(given, Retry):
        raise InvalidInput(f"retry: {given!r} is no Retry", hint="write Retry(max_attempts=3)")
    if not isinstance(given.wait, Backoff):
        raise InvalidInput(
            f"wait: {given.wait!r} is no back-off",
            hint='write wait=backoff.exponential("2s") or wait=backoff.fixed("10s")',
        )
    on: object = given.on
    if not isinstance(on, tuple) or not all(map(_is_exception, on)):
        raise InvalidInput(
            f"on: {given.on!r} is no tuple of exceptions", hint="write on=(OSError, TimeoutError)"
        )
    return given


def _is_exception(kind: object) -> bool:
    return isinstance(kind, type) and issubclass(kind, BaseException)
