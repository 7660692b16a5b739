"""What is done when nobody knows whether a change happened: it is asked again until it is known."""

from collections.abc import Awaitable, Callable
from typing import Final, TypeVar

from mainspring.domain.errors import MainspringError, OutcomeUnknown
from mainspring.ports.clock import monotonic, pause_seconds

T = TypeVar("T")
#: How long an unknown outcome is asked about before the caller is told that it is unknown.
SETTLE_SECONDS: Final = 30.0
_FIRST_REST_SECONDS: Final = 0.05


async def settled(
    ask: Callable[[], Awaitable[T]],
    again: Callable[[], Awaitable[T]],
    *,
    hint: str,
    details: dict[str, object] | None = None,
    whom: str = "the store",
) -> T:
    """Return the answer of ``ask``; after an unknown outcome that of ``again``.

    ``again`` must be harmless where the first one happened, and say the same.
    """
    until = monotonic() + SETTLE_SECONDS
    rest = _FIRST_REST_SECONDS
    try:
        return await ask()
    except OutcomeUnknown as error:
        unknown: MainspringError = error
    while monotonic() < until:
        await pause_seconds(rest)
        rest = min(rest * 2, 1.0)
        try:
            return await again()
        except MainspringError as error:
            if error.exit_code != OutcomeUnknown.exit_code:
                raise
            unknown = error
    raise OutcomeUnknown(
        f"{whom} did not answer for {SETTLE_SECONDS:g} s: {unknown}",
        hint=hint,
        details=details,
    ) from unknown
