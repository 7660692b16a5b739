"""What is measured, and how many measurements become one figure."""

from collections.abc import Callable, Sequence
from statistics import median
from typing import Any

import msgspec


class Cost(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """Processor time in microseconds a job, by who spent it; what did not take part is absent."""

    client_us: float | None = None
    worker_us: float | None = None
    server_us: float | None = None


class Throughput(msgspec.Struct, frozen=True, kw_only=True):
    """One measurement of how fast jobs went in or were drained."""

    jobs_per_second: float
    cost: Cost


class Pickup(msgspec.Struct, frozen=True, kw_only=True):
    """One measurement of the time from the acknowledged commit to the handler's first line."""

    jobs: int
    p50_ms: float
    p95_ms: float
    p99_ms: float
    max_ms: float
    cost: Cost


class Round(msgspec.Struct, frozen=True, kw_only=True):
    """Floor and product, measured within the same minute."""

    floor_insert: Throughput
    floor_drain: Throughput
    insert: Throughput
    drain: Throughput
    pickup: Pickup
    #: ``None`` where the store has no way to tell of a new job.
    floor_pickup: Pickup | None


class Spread(msgspec.Struct, frozen=True):
    """The middle of several measurements, and how far apart they lay."""

    median: float
    least: float
    most: float


def spread(values: Sequence[float]) -> Spread:
    """Sum up measurements of one thing."""
    middle, least, most = (round(each, 3) for each in (median(values), min(values), max(values)))
    return Spread(middle, least, most)


def over(rounds: Sequence[Round], of: Callable[[Round], float]) -> Spread:
    """Sum up one figure over the rounds."""
    return spread(list(map(of, rounds)))


def summary(rounds: Sequence[Round]) -> dict[str, Any]:
    """Return every figure of one store as the result file holds it."""
    return {
        "bulk_insert": {
            "floor": _throughput(rounds, lambda each: each.floor_insert),
            "product": _throughput(rounds, lambda each: each.insert),
            # Of each round, then the median: what disturbed a minute disturbed both.
            "ratio": over(
                rounds, lambda each: each.insert.jobs_per_second / each.floor_insert.jobs_per_second
            ),
        },
        "drain": {
            "floor": _throughput(rounds, lambda each: each.floor_drain),
            "product": _throughput(rounds, lambda each: each.drain),
            "ratio": over(
                rounds, lambda each: each.drain.jobs_per_second / each.floor_drain.jobs_per_second
            ),
        },
        "pickup": {
            "jobs_a_round": rounds[0].pickup.jobs,
            "floor": _pickup([each.floor_pickup for each in rounds if each.floor_pickup]),
            "product": _pickup([each.pickup for each in rounds]),
        },
    }


def _pickup(found: Sequence[Pickup]) -> dict[str, Spread] | None:
    if not found:
        return None
    names = ("p50_ms", "p95_ms", "p99_ms", "max_ms")
    waits = {name: spread([getattr(each, name) for each in found]) for name in names}
    return waits | _cost([each.cost for each in found])


def _throughput(rounds: Sequence[Round], of: Callable[[Round], Throughput]) -> dict[str, Any]:
    return {
        "jobs_per_second": over(rounds, lambda each: of(each).jobs_per_second),
        **_cost([of(each).cost for each in rounds]),
    }


def _cost(costs: Sequence[Cost]) -> dict[str, Spread]:
    """Sum up who spent what; who took no part is left out."""
    found: dict[str, Spread] = {}
    for name in Cost.__struct_fields__:
        spent = [value for value in (getattr(each, name) for each in costs) if value is not None]
        if spent:
            found[f"{name.removesuffix('_us')}_cpu_us"] = spread(spent)
    return found


def pickup_of(seconds: Sequence[float], cost: Cost) -> Pickup:
    """Sum up the pickups of one round."""
    ordered = sorted(seconds)

    def at(share: float) -> float:
        return 1_000 * ordered[min(len(ordered) - 1, int(share * len(ordered)))]

    return Pickup(
        jobs=len(ordered),
        p50_ms=at(0.5),
        p95_ms=at(0.95),
        p99_ms=at(0.99),
        max_ms=1_000 * ordered[-1],
        cost=cost,
    )
