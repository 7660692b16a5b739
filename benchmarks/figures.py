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


class Spread(msgspec.Struct, frozen=True):
    """The middle of several measurements, and how far apart they lay."""

    median: float
    least: float
    most: float


def spread(values: Sequence[float]) -> Spread:
    """Sum up measurements of one thing."""
    middle, least, most = (round(each, 3) for each in (median(values), min(values), max(values)))
    return Spread(middle, least, most)


def over(rounds: Sequence[Round], of: Callable[[Round], float | None]) -> Spread | None:
    """Sum up one figure over the rounds; ``None`` if nobody measured it."""
    found = [value for value in map(of, rounds) if value is not None]
    return spread(found) if found else None


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
            "p50_ms": over(rounds, lambda each: each.pickup.p50_ms),
            "p95_ms": over(rounds, lambda each: each.pickup.p95_ms),
            "p99_ms": over(rounds, lambda each: each.pickup.p99_ms),
            "max_ms": over(rounds, lambda each: each.pickup.max_ms),
            **_cost(rounds, lambda each: each.pickup.cost),
        },
    }


def _throughput(rounds: Sequence[Round], of: Callable[[Round], Throughput]) -> dict[str, Any]:
    return {
        "jobs_per_second": over(rounds, lambda each: of(each).jobs_per_second),
        **_cost(rounds, lambda each: of(each).cost),
    }


def _cost(rounds: Sequence[Round], of: Callable[[Round], Cost]) -> dict[str, Spread]:
    found = {
        "client_cpu_us": over(rounds, lambda each: of(each).client_us),
        "worker_cpu_us": over(rounds, lambda each: of(each).worker_us),
        "server_cpu_us": over(rounds, lambda each: of(each).server_us),
    }
    return {name: value for name, value in found.items() if value is not None}


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
