"""Claims whose answer was lost on the way.

The store may have given jobs to this process, and nobody here knows them: their session is alive,
so no recovery would take them before their own deadline, which then counts as a try. Whoever sent
the claim therefore looks at what the store says it holds, and hands back what it never saw.
"""

from collections.abc import Callable
from typing import Final

#: A claim may still be carried out for so long after its connection broke.
_LATE_SECONDS: Final = 30.0
_LOOK_SECONDS: Final = 1.0


class Unanswered:
    """Tells when to look for what claims without an answer have brought."""

    def __init__(self, monotonic: Callable[[], float]) -> None:
        """Begin without a doubt."""
        self._monotonic = monotonic
        self._noted_at: float | None = None
        self._look_at = float("-inf")

    def note(self) -> None:
        """Take down that a claim was not answered: the next look is due at once."""
        self._noted_at = self._monotonic()
        self._look_at = float("-inf")

    def is_look_due(self) -> bool:
        """Tell whether to look now."""
        return self._noted_at is not None and self._monotonic() >= self._look_at

    def looked(self) -> None:
        """Take down a look; the last one comes when nothing can be under way any more."""
        assert self._noted_at is not None, "without a doubt nobody looks"
        now = self._monotonic()
        self._look_at = now + _LOOK_SECONDS
        if now - self._noted_at >= _LATE_SECONDS:
            self._noted_at = None
