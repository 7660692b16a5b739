"""The role that takes schedules along when this node's zone data is newer than theirs."""

import logging
from collections.abc import Callable
from datetime import UTC, datetime
from typing import Final

import msgspec

from mainspring.agenda.changes import Moved, rezone
from mainspring.agenda.standing import Ruling, Standing, rolled_back
from mainspring.domain.limits import FIRE_SCHEDULES_MAX
from mainspring.domain.schedule import ScheduleView
from mainspring.ports.schedules import ScheduleFilter
from mainspring.scheduler.firing import FiringStore
from mainspring.scheduler.resting import resting
from mainspring.timetable.zones import zone_data_number

_log: Final = logging.getLogger("mainspring.scheduler")
ACTOR: Final = "scheduler"
#: Zone data changes with the process; nodes that are older make schedules meanwhile.
_EVERY_SECONDS: Final = 3_600.0
#: Schedules that are changed in one transaction.
_A_TIME: Final = 100


class Rezoning:
    """Judges anew, under newer zone data, what was computed under older; says what moved."""

    def __init__(
        self,
        store: FiringStore,
        *,
        new_id: Callable[[], bytes],
        zones: int | None = None,
        batch: int = FIRE_SCHEDULES_MAX,
    ) -> None:
        """Take the schedules of this store to the zone data of this process."""
        self._store = store
        self._new_id = new_id
        self._zones = zone_data_number() if zones is None else zones
        self._batch = batch
        self._after: bytes | None = None

    async def step(self) -> float:
        """Take along one batch; return at once when there may be more, else after an hour."""
        wanted = ScheduleFilter(zones_before=self._zones)
        found = await self._store.list_schedules(wanted, limit=self._batch, after=self._after)
        for begin in range(0, len(found), _A_TIME):
            await self._take_along(found[begin : begin + _A_TIME])
        is_more = len(found) == self._batch
        self._after = found[-1].id if is_more else None
        return 0.0 if is_more else _EVERY_SECONDS

    async def _take_along(self, views: list[ScheduleView]) -> None:
        rulings: list[tuple[Standing, Ruling]] = []

        def judge(standing: Standing) -> Ruling:
            try:
                ruling = rezone(standing, self._new_id, self._zones)
            except Exception:  # noqa: BLE001 - logged; one schedule must not stop the others
                return resting(rolled_back(standing))
            rulings.append((standing, ruling))
            return ruling

        judged = await self._store.judge_named([view.id for view in views], judge, actor=ACTOR)
        for standing, ruling in rulings:
            if ruling.change is not None:
                _tell(standing, ruling)
        self._store.wakeups.announce({"schedules"} | judged.topics)


def _tell(standing: Standing, ruling: Ruling) -> None:
    moved = msgspec.json.decode(ruling.detail, type=Moved).moved
    for was_at, is_at in moved:
        _log.warning(
            "new zone data moves a fire of the schedule %s: from %s to %s",
            standing.name,
            _shown(was_at),
            _shown(is_at),
        )


def _shown(instant: int | None) -> str:
    return "none" if instant is None else datetime.fromtimestamp(instant, UTC).isoformat()
