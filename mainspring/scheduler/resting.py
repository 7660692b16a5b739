"""What becomes of a schedule that cannot be judged: it rests, and is tried again."""

import logging
from typing import Final

from mainspring.agenda.standing import Ruling, Standing
from mainspring.domain.ids import SCHEDULE, show

_log: Final = logging.getLogger("mainspring.scheduler")
_REST_MS: Final = 60_000


def resting(standing: Standing) -> Ruling:
    """Return the ruling for a schedule whose judgement has just raised.

    Its cursor stays where it is, so that nothing is lost: what it owes is decided when it can be
    judged again, by a node that can or after a repair.
    """
    shown = show(SCHEDULE, standing.id)
    seconds = _REST_MS // 1000
    _log.exception(
        "the schedule %s (%s) cannot be judged; again in %s s", standing.name, shown, seconds
    )
    look_at = standing.now_ms + _REST_MS
    return Ruling(cursor=standing.cursor, state=standing.state, look_at_ms=look_at)
