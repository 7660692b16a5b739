"""A year of two hundred schedules, and schedulers that are killed, sleep and lose their store.

What is left in the ledger is held against a second opinion on every instant and every outcome, and
against the product's own audit. A bug that is planted must be found by both.
"""

import os
import zoneinfo
from collections.abc import AsyncIterator, Callable

import msgspec
import pytest

from mainspring.agenda.standing import Ruling, Standing
from mainspring.domain.schedule import Outcome
from mainspring.ports.entropy import random_seed
from mainspring.ports.store import Store
from mainspring.store.postgres import open_postgres
from mainspring.store.sqlite import open_direct
from mainspring.testing.clock import SettableClock
from tests.scheduler.year.plans import MISFIRES, OVERLAPS, ZONES, plans
from tests.scheduler.year.world import Spoil, World

SCHEDULES = 200
FAULTS = {"dies_before", "dies_within", "dies_after", "answer_lost", "partitioned"}


#: A year in which every outcome comes about.
USUAL_SEED = "20"


@pytest.fixture(autouse=True)
def bundled_zones() -> None:
    """The second opinion reads the same zone data, by other code."""
    zoneinfo.reset_tzpath(to=[])


@pytest.fixture
def seed() -> int:
    """The same year each time; another with YEAR_SEED, and with YEAR_SEED=any one of its own."""
    asked = os.environ.get("YEAR_SEED", USUAL_SEED)
    given = random_seed() if asked == "any" else int(asked)
    print(f"YEAR_SEED={given}")
    return given


@pytest.fixture
async def store(clock: SettableClock) -> AsyncIterator[Store]:
    opened = await open_direct(clock=clock)
    await opened.migrate(phase="all")
    yield opened
    await opened.close()


def prove(found: list[str], seed: int) -> None:
    """Fail with everything that was found, and the seed that repeats the run."""
    shown = "\n  ".join(found[:40])
    assert not found, f"{len(found)} findings, repeat with YEAR_SEED={seed}\n  {shown}"


@pytest.mark.slow
@pytest.mark.timeout(400)
async def test_a_year_of_two_hundred_schedules_leaves_no_fire_out_and_makes_none_twice(
    store: Store, clock: SettableClock, seed: int
) -> None:
    drawn = plans(SCHEDULES, seed)
    assert {plan.draft.zone for plan in drawn} == set(ZONES)
    assert len({(plan.misfire, plan.overlap) for plan in drawn}) == len(MISFIRES) * len(OVERLAPS)
    world = World([store] * 3, clock, seed)
    await world.begin(drawn)
    await world.live(365)
    await world.heal(1)
    prove(await world.wrong(), seed)
    prove(await world.audited(), seed)
    # The run shows something: every fault has happened, and in the usual year every outcome.
    assert world.faults().keys() == FAULTS
    assert str(seed) != USUAL_SEED or await world.outcomes() >= {*Outcome} - {
        Outcome.BACKFILLED,
        Outcome.SKIPPED_ON_REQUEST,
    }


@pytest.mark.slow
@pytest.mark.postgres
@pytest.mark.timeout(240)
async def test_schedulers_side_by_side_on_postgres(
    database: Callable[..., str], clock: SettableClock, seed: int
) -> None:
    dsn = database("15")
    stores = [await open_postgres(dsn, clock=clock) for _ in range(3)]
    try:
        await stores[0].migrate(phase="all")
        world = World(stores, clock, seed)
        await world.begin(plans(40, seed, days=20))
        await world.live(20)
        await world.heal(0.2)
        prove(await world.wrong(), seed)
        prove(await world.audited(), seed)
        assert world.faults().keys() == FAULTS
    finally:
        for each in stores:
            await each.close()


# --- bugs that are planted ----------------------------------------------------------------------


def dropped(standing: Standing, ruling: Ruling) -> Ruling:
    """Lose a fire: the cursor passes it, and nobody writes it down."""
    if standing.name != "s7" or not ruling.fires:
        return ruling
    return msgspec.structs.replace(ruling, fires=ruling.fires[:-1])


def doubled(standing: Standing, ruling: Ruling) -> Ruling:
    """Make a second job of a fire."""
    made = [fire for fire in ruling.fires if fire.job is not None]
    if standing.name != "s7" or not made:
        return ruling
    assert made[0].job is not None
    number = int.from_bytes(made[0].job.id) + 1
    job = msgspec.structs.replace(made[0].job, id=number.to_bytes(16), alone=False)
    row = msgspec.structs.replace(made[0].row, sequence=9, job_id=job.id)
    twin = msgspec.structs.replace(made[0], row=row, job=job)
    return msgspec.structs.replace(ruling, fires=(*ruling.fires, twin))


def leapt(standing: Standing, ruling: Ruling) -> Ruling:
    """Advance the cursor over the next instant, whatever it is."""
    following = ruling.cursor.next_at
    if standing.name != "s7" or following is None or ruling.waiting:
        return ruling
    cursor = msgspec.structs.replace(ruling.cursor, through=following)
    return msgspec.structs.replace(ruling, cursor=cursor)


def misjudged(standing: Standing, ruling: Ruling) -> Ruling:
    """Give no job to a fire that is on time, and say that it came too late."""
    if standing.name != "s7":
        return ruling
    fires = [
        msgspec.structs.replace(
            fire,
            row=msgspec.structs.replace(fire.row, outcome=Outcome.SKIPPED_MISFIRE, job_id=None),
            job=None,
        )
        for fire in ruling.fires
    ]
    return msgspec.structs.replace(ruling, fires=tuple(fires))


async def world_of_a_month(store: Store, clock: SettableClock, spoil: Spoil | None) -> World:
    world = World([store] * 2, clock, 11, spoil=spoil)
    await world.begin(plans(12, 11, days=30))
    await world.live(30)
    await world.heal(0.5)
    return world


async def test_without_a_bug_nothing_is_found(store: Store, clock: SettableClock) -> None:
    world = await world_of_a_month(store, clock, None)
    prove(await world.wrong() + await world.audited(), 11)


@pytest.mark.parametrize(
    ("spoil", "words"),
    [
        (dropped, "has no row"),
        (doubled, "no rule names it"),
        (leapt, "has no row"),
    ],
    ids=["dropped", "doubled", "leapt"],
)
async def test_a_planted_bug_is_found_by_both(
    store: Store, clock: SettableClock, spoil: Spoil, words: str
) -> None:
    world = await world_of_a_month(store, clock, spoil)
    found = await world.wrong()
    assert found
    assert any(words in text for text in found)
    assert all(text.startswith("s7:") for text in found)
    assert [text for text in await world.audited() if text.startswith("s7:")]


async def test_an_outcome_that_is_not_true_is_found(store: Store, clock: SettableClock) -> None:
    """The audit asks whether there is an outcome; the second opinion, whether it is true."""
    found = await (await world_of_a_month(store, clock, misjudged)).wrong()
    assert any("skipped_misfire is not true" in text for text in found)


async def test_a_job_that_vanishes_is_found(store: Store, clock: SettableClock) -> None:
    world = await world_of_a_month(store, clock, None)
    world.forget_one_job()
    assert any("has lost its job" in text for text in await world.wrong())
