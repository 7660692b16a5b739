"""One round: floor and product take turns, so that what disturbs the machine disturbs both."""

import asyncio
import os
import tempfile
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import Final, NamedTuple

from benchmarks.figures import Pickup, Round, Throughput, pickup_of
from benchmarks.floor import Floor
from benchmarks.floor.on_postgres import PostgresFloor
from benchmarks.floor.on_sqlite import SqliteFloor
from benchmarks.meter import Meter
from benchmarks.product import Product
from benchmarks.sizes import Sizes
from mainspring.runtime.child_process import loop_factory
from mainspring.testing.servers import PostgresServer

#: Beside the defaults of the distribution. The floor lives on the same server.
POSTGRES_SETTINGS: Final = {
    "shared_buffers": "1GB",
    "max_wal_size": "8GB",
    "autovacuum_naptime": "10s",
}


class Place(NamedTuple):
    """Two empty databases on one server, or two empty folders on one disk."""

    floor: Floor
    product: Product
    server: int | None


MakePlace = Callable[[], AbstractContextManager[Place]]


def measure(make_place: MakePlace, sizes: Sizes, say: Callable[[str], None]) -> list[Round]:
    """Return the rounds on one store, after one that only warms caches up."""
    with make_place() as place, _runner() as runner:
        runner.run(_warm_up(place, sizes))
    found = []
    for number in range(sizes.rounds):
        with make_place() as place, _runner() as runner:
            found.append(runner.run(_round(place, sizes, floor_first=number % 2 == 0)))
        say(f"round {number + 1} of {sizes.rounds}: {_shown(found[-1])}")
    return found


def _runner() -> asyncio.Runner:
    """Return a runner on the loop that worker processes use."""
    return asyncio.Runner(loop_factory=loop_factory())


async def _warm_up(place: Place, sizes: Sizes) -> None:
    await place.floor.open()
    await place.floor.insert(sizes.jobs // 2)
    await place.floor.drain()
    await place.floor.close()


async def _round(place: Place, sizes: Sizes, *, floor_first: bool) -> Round:
    await place.floor.open()
    place.product.migrate()
    if floor_first:
        floor_insert = await _floor_insert(place, sizes)
        insert, ids = await place.product.insert()
        floor_drain = await _floor_drain(place, sizes)
    else:
        insert, ids = await place.product.insert()
        floor_insert = await _floor_insert(place, sizes)
        floor_drain = await _floor_drain(place, sizes)
    drain, pickup = await place.product.drain_and_pick_up(ids)
    floor_pickup = await _floor_pickup(place, sizes)
    await place.floor.close()
    return Round(
        floor_insert=floor_insert,
        floor_drain=floor_drain,
        insert=insert,
        drain=drain,
        floor_pickup=floor_pickup,
        pickup=pickup,
    )


async def _floor_insert(place: Place, sizes: Sizes) -> Throughput:
    with Meter(client=os.getpid(), worker=None, server=place.server) as meter:
        await place.floor.insert(sizes.jobs)
    return meter.throughput(sizes.jobs)


async def _floor_drain(place: Place, sizes: Sizes) -> Throughput:
    with Meter(client=None, worker=os.getpid(), server=place.server) as meter:
        drained = await place.floor.drain()
    assert drained == sizes.jobs, "the floor lost jobs"
    return meter.throughput(drained)


async def _floor_pickup(place: Place, sizes: Sizes) -> Pickup | None:
    with Meter(client=None, worker=os.getpid(), server=place.server) as meter:
        seconds = await place.floor.pick_up(sizes.pace)
    return None if seconds is None else pickup_of(seconds, meter.cost(len(seconds)))


def on_postgres(server: PostgresServer, sizes: Sizes, processes: int) -> MakePlace:
    """Return what makes two databases on this server, and drops them."""

    @contextmanager
    def make() -> Iterator[Place]:
        floor, product = server.create_database(), server.create_database()
        yield Place(
            PostgresFloor(floor),
            Product(product, sizes, processes=processes, server=server.pid),
            server.pid,
        )
        for each in (floor, product):
            server.drop_database(each)

    return make


def on_sqlite(sizes: Sizes, processes: int) -> MakePlace:
    """Return what makes two files in a folder, and removes them."""

    @contextmanager
    def make() -> Iterator[Place]:
        with tempfile.TemporaryDirectory(prefix="mainspring-benchmarks-") as folder:
            store = f"sqlite:///{Path(folder, 'product.db')}"
            yield Place(
                SqliteFloor(Path(folder, "floor.db")),
                Product(store, sizes, processes=processes, server=None),
                None,
            )

    return make


def _shown(found: Round) -> str:
    insert = f"{found.insert.jobs_per_second:,.0f}/{found.floor_insert.jobs_per_second:,.0f}"
    drain = f"{found.drain.jobs_per_second:,.0f}/{found.floor_drain.jobs_per_second:,.0f}"
    pickup = f"{found.pickup.p50_ms:.2f}"
    if found.floor_pickup is not None:
        pickup += f"/{found.floor_pickup.p50_ms:.2f}"
    return f"insert {insert}, drain {drain} jobs/s, pickup p50 {pickup} ms"
