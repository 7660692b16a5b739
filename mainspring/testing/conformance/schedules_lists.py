"""Looking at schedules and at their ledger."""

from datetime import timedelta
from typing import Any

from mainspring.domain.schedule import (
    SPAN,
    FireView,
    Outcome,
    ScheduleState,
)
from mainspring.ports.schedules import ScheduleFilter
from mainspring.ports.store import Store
from mainspring.testing.clock import SettableClock
from mainspring.testing.conformance.schedules_steps import (
    MANY,
    at,
    change,
    fire,
    firing,
    jobless,
    make_schedule,
    ruling,
    schedule_of,
    seconds,
)
from mainspring.testing.conformance.steps import (
    Suite,
)

_DAY = timedelta(days=1)


class LedgerListSuite(Suite):
    """Looking at the ledger."""

    async def _filled(self, store: Store, clock: SettableClock) -> tuple[bytes, int]:
        now = seconds(clock.now())
        schedule = await make_schedule(
            store,
            firing(
                fire(now - 5),
                *(jobless(now - number * 10) for number in range(1, 10)),
                jobless(now - 10, sequence=1, outcome=Outcome.DST_SKIPPED),
                jobless(now - 200, sequence=SPAN, through=now - 55, outcome=Outcome.EXPIRED),
                jobless(now - 200, sequence=-3, through=now - 150, outcome=Outcome.DST_SKIPPED),
            ),
        )
        await make_schedule(store, firing(fire(now - 7), jobless(now - 60)), name="other")
        return schedule, now

    async def test_by_instant_and_sequence_both_ways(
        self, store: Store, clock: SettableClock
    ) -> None:
        schedule, now = await self._filled(store, clock)
        keys = [(now - 200, -3), (now - 200, SPAN)]
        keys += [(now - number * 10, 0) for number in range(9, 0, -1)]
        keys += [(now - 10, 1), (now - 5, 0)]
        assert _keys(await store.list_fires(schedule, limit=99, newest_first=False)) == keys
        assert _keys(await store.list_fires(schedule, limit=99)) == keys[::-1]
        assert _keys(await store.list_fires(schedule, limit=3)) == keys[::-1][:3]
        assert _keys(await store.list_fires(schedule, limit=4, newest_first=False)) == keys[:4]

    async def test_a_range_takes_the_spans_that_reach_into_it(
        self, store: Store, clock: SettableClock
    ) -> None:
        schedule, now = await self._filled(store, clock)
        for newest_first in (False, True):
            found = await store.list_fires(
                schedule,
                after=at(now - 60),
                until=at(now - 40),
                limit=99,
                newest_first=newest_first,
            )
            keys = [(now - 200, SPAN), (now - 50, 0), (now - 40, 0)]
            assert _keys(found) == (keys[::-1] if newest_first else keys)
        found = await store.list_fires(schedule, after=at(now - 55), until=at(now - 41), limit=99)
        assert _keys(found) == [(now - 50, 0)]
        found = await store.list_fires(schedule, until=at(now - 150), limit=99)
        assert _keys(found) == [(now - 200, SPAN), (now - 200, -3)]
        assert await store.list_fires(schedule, after=at(now), limit=99) == []
        assert await store.list_fires(b"0" * 16, limit=9) == []

    async def test_by_outcome(self, store: Store, clock: SettableClock) -> None:
        schedule, now = await self._filled(store, clock)
        wanted = frozenset({Outcome.DST_SKIPPED, Outcome.JOB})
        found = await store.list_fires(schedule, outcomes=wanted, limit=99)
        assert _keys(found) == [(now - 5, 0), (now - 10, 1), (now - 200, -3)]
        found = await store.list_fires(
            schedule, outcomes=frozenset({Outcome.EXPIRED}), after=at(now - 60), limit=99
        )
        assert _keys(found) == [(now - 200, SPAN)]

    async def test_schedules_by_what_is_asked(self, store: Store, clock: SettableClock) -> None:
        holidays = b'[{"name":"holidays","entries":["12-25"]}]'
        given: list[dict[str, Any]] = [
            {"name": "billing-eu", "calendars": holidays},
            {"name": "billing-us", "zones": 202_601, "owner": "app:shop"},
            {"name": "report", "tenant": "other"},
            {"name": "old_100%"},
            {"name": "gone"},
        ]
        made = [await make_schedule(store, **each) for each in given]
        await change(store, made[3], ruling(state=ScheduleState.PAUSED))
        await change(store, made[4], ruling(state=ScheduleState.DELETED))
        wanted: dict[tuple[int, ...], ScheduleFilter] = {
            (0, 1, 2, 3): ScheduleFilter(),
            (0, 1, 2, 3, 4): ScheduleFilter(with_deleted=True),
            (4,): ScheduleFilter(states=frozenset({ScheduleState.DELETED})),
            (3,): ScheduleFilter(states=frozenset({ScheduleState.PAUSED})),
            (2,): ScheduleFilter(tenant="other"),
            (1,): ScheduleFilter(owner="app:shop"),
            (0, 1): ScheduleFilter(name_has="billing-"),
            (0,): ScheduleFilter(calendar="holidays"),
            (): ScheduleFilter(calendar="holi"),
        }
        for expected, filter_ in wanted.items():
            found = await store.list_schedules(filter_, limit=MANY)
            assert [each.id for each in found] == [made[number] for number in expected]
        found = await store.list_schedules(ScheduleFilter(zones_before=202_606), limit=9)
        assert [each.id for each in found] == [made[1]]
        oldest = found[0].zones
        found = await store.list_schedules(ScheduleFilter(zones_after=oldest), limit=9)
        assert [each.id for each in found] == [made[0], made[2], made[3]]
        found = await store.list_schedules(ScheduleFilter(zones_after=202_606), limit=9)
        assert found == []
        # No letter of a name means something else.
        for text, is_there in (("0%", True), ("%", True), ("l_1", False), ("d_1", True)):
            found = await store.list_schedules(ScheduleFilter(name_has=text), limit=9)
            assert [each.id for each in found] == ([made[3]] if is_there else [])
        assert found[0] == await schedule_of(store, made[3])

    async def test_schedules_page_by_page(self, store: Store) -> None:
        made = sorted([await make_schedule(store, name=f"s{number}") for number in range(7)])
        found: list[bytes] = []
        while page := await store.list_schedules(
            ScheduleFilter(), limit=3, after=found[-1] if found else None
        ):
            found += [each.id for each in page]
        assert found == made

    async def test_the_unknown_is_nothing(self, store: Store) -> None:
        assert await store.get_schedule(b"0" * 16) is None
        assert await store.find_schedule("default", "none") is None
        assert await store.list_versions(b"0" * 16) == []
        assert await store.list_backfills(b"0" * 16) == []


def _keys(rows: list[FireView]) -> list[tuple[int, int]]:
    return [(seconds(each.nominal_at), each.sequence) for each in rows]
