"""The role that fires: one look, one batch, and how long to rest."""

from collections.abc import Callable
from typing import Final, Protocol

from mainspring.agenda.changes import backfilled_job
from mainspring.agenda.judge import advance
from mainspring.agenda.misfires import with_notices
from mainspring.agenda.standing import Ruling, Standing
from mainspring.domain.job import NewJob
from mainspring.domain.limits import FIRE_SCHEDULES_MAX
from mainspring.policies.listening import NOBODY, Listeners
from mainspring.ports.schedules import Judged, Release, ScheduleStore
from mainspring.ports.store import Wakeups
from mainspring.scheduler.resting import resting
from mainspring.timetable.zones import zone_data_number

#: Something that concerns this role has happened.
TOPICS: Final = frozenset({"schedules", "done"})
#: Without a hint a change is seen after so long at the latest.
POLL_SECONDS: Final = 2.0
#: Hints gather for so long before they are looked into.
_GATHER_SECONDS: Final = 0.05
#: How much later one looks whom others forestalled: at first, and at most. Together with the dice
#: of ``_lateness`` it bounds how late a fire is when the eager one was killed.
_LATE_SECONDS: Final = (0.05, 0.8)


class FiringStore(ScheduleStore, Protocol):
    """The part of a store that firing needs."""

    @property
    def wakeups(self) -> Wakeups:
        """Return the hints of this store."""
        ...


class Audience(Protocol):
    """Knows who listens."""

    async def listeners(self) -> Listeners:
        """Return the endpoints of webhooks, as they were a moment ago."""
        ...


class Firing:
    """One of any number of schedulers.

    The one that finds work is eager: it looks at the very instant at which there is some. Who comes
    too late a few times in a row looks later than that, so that a hundred of them cost little more
    than one; and is eager again as soon as it finds something that the others left.
    """

    def __init__(
        self,
        store: FiringStore,
        *,
        new_id: Callable[[], bytes],
        roll: Callable[[], float],
        batch: int = FIRE_SCHEDULES_MAX,
        audience: Audience | None = None,
    ) -> None:
        """Fire the schedules of this store; ``batch`` bounds the schedules and jobs of a step.

        Who is in the ``audience`` is told by webhook of fires that were missed.
        """
        self._audience = audience
        self._listeners = NOBODY
        self._store = store
        self._new_id = new_id
        self._roll = roll
        self._batch = batch
        self._zones = zone_data_number()
        self._late_seconds = 0.0

    @property
    def deaf_seconds(self) -> float:
        """Return how long hints may gather before the next look."""
        return max(_GATHER_SECONDS, self._lateness())

    async def step(self) -> float:
        """Judge what is due; return how long nothing will be."""
        wait_ms = await self._store.next_look_ms(zones=self._zones)
        if wait_ms is None:
            return POLL_SECONDS
        if wait_ms > 0:
            return min(wait_ms / 1000 + self._lateness(), POLL_SECONDS)
        if self._audience is not None:
            self._listeners = await self._audience.listeners()
        fired = await self._store.judge_due(self._judge, zones=self._zones, limit=self._batch)
        self._announce(fired)
        released = await self._store.release_backfills(self._job, limit=self._batch)
        self._announce(released)
        if fired.schedules or released.schedules:
            self._late_seconds = 0.0
            return 0.0
        first, most = _LATE_SECONDS
        self._late_seconds = min(max(first, self._late_seconds * 2), most)
        return self._lateness()

    def _lateness(self) -> float:
        return self._late_seconds * (0.75 + self._roll() / 2)

    def _judge(self, standing: Standing) -> Ruling:
        try:
            ruling = advance(standing, self._new_id)
            return with_notices(standing, ruling, self._listeners, self._new_id)
        except Exception:  # noqa: BLE001 - logged; one schedule must not stop the others
            return resting(standing)

    def _job(self, release: Release) -> NewJob:
        return backfilled_job(
            release.standing,
            self._new_id,
            nominal_at=release.nominal_at,
            sequence=release.sequence,
            due_ms=release.due_ms,
        )

    def _announce(self, judged: Judged) -> None:
        self._store.wakeups.announce(judged.topics)
