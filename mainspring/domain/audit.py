"""What an audit of a ledger answers; ``agenda.audit`` finds it."""

from datetime import datetime
from typing import Literal

import msgspec

FindingKind = Literal["gap", "double", "unexpected"]


class Finding(msgspec.Struct, frozen=True, kw_only=True):
    """Where ledger and timetable disagree."""

    kind: FindingKind
    nominal_at: datetime
    sequence: int
    #: What is wrong, as a sentence.
    detail: str
    #: The wall time by the rule, where the rule names the instant.
    local: str = ""


class Audited(msgspec.Struct, frozen=True, kw_only=True):
    """What an audit found in a range of instants (after one, up to another)."""

    after: datetime
    through: datetime
    #: Nominal fires, with those that clock changes and calendars took away.
    expected: int
    #: Those of them that the ledger accounts for exactly once.
    accounted: int
    #: How many ended how.
    outcomes: dict[str, int]
    gaps: int
    doubles: int
    unexpected: int
    #: The first of them.
    findings: tuple[Finding, ...]
    #: False: there was more than one audit looks at; go on from ``through``.
    is_complete: bool = True

    @property
    def is_clean(self) -> bool:
        """Say whether ledger and timetable agree."""
        return not (self.gaps or self.doubles or self.unexpected)
