"""``python -m benchmarks``: measure, write the result, and show it. See README.md."""

import argparse
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import msgspec

from benchmarks import machine, results
from benchmarks.figures import summary
from benchmarks.rounds import POSTGRES_SETTINGS, measure, on_postgres, on_sqlite
from benchmarks.sizes import Sizes
from mainspring.ports.clock import utc_now
from mainspring.testing.servers import PostgresServer


def main(words: Sequence[str] | None = None) -> int:
    """Read the command line and do what it says."""
    given = _read(words)
    if not given.table:
        sizes = msgspec.convert(
            {name: getattr(given, name) for name in Sizes.__struct_fields__}, Sizes
        )
        result = run(sizes, given.stores.split(","), given.postgres, given.processes)
        results.write(result, given.out or results.FOLDER / f"{result['taken_on']}.json")
    else:
        result = results.newest()
        text = results.README.read_text(encoding="utf-8")
        results.README.write_text(results.readme_with(result, text), encoding="utf-8")
    print(results.table(result))
    return 0


def run(sizes: Sizes, stores: Sequence[str], version: str, processes: int) -> dict[str, Any]:
    """Measure on these stores and return the result."""
    result: dict[str, Any] = {
        "taken_on": utc_now().date().isoformat(),
        "commit": machine.commit(),
        "machine": machine.facts(),
        "sizes": sizes,
        "processes": {"postgres": processes, "sqlite": 1},
        "postgres": version,
        "postgres_settings": {"fsync": "on", **POSTGRES_SETTINGS},
        "figures": {},
    }
    if "postgres" in stores:
        with PostgresServer(version, fsync=True, settings=POSTGRES_SETTINGS) as server:
            rounds = measure(on_postgres(server, sizes, processes), sizes, _say("postgres"))
        result["figures"]["postgres"] = summary(rounds)
    if "sqlite" in stores:
        rounds = measure(on_sqlite(sizes, 1), sizes, _say("sqlite"))
        result["figures"]["sqlite"] = summary(rounds)
    found: dict[str, Any] = msgspec.to_builtins(result)
    return found


def _say(store: str) -> Callable[[str], None]:
    return lambda text: print(f"{store}: {text}", file=sys.stderr, flush=True)


def _read(words: Sequence[str] | None) -> argparse.Namespace:
    usual = Sizes()
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    for name in Sizes.__struct_fields__:
        value = getattr(usual, name)
        parser.add_argument(f"--{name.replace('_', '-')}", type=type(value), default=value)
    parser.add_argument("--stores", default="postgres,sqlite")
    parser.add_argument("--postgres", default="15", help="major version of the server")
    parser.add_argument("--processes", type=int, default=2, help="children of the worker there")
    parser.add_argument("--out", type=Path, help="by default results/DATE.json")
    parser.add_argument("--table", action="store_true", help="only write the README's table anew")
    return parser.parse_args(words)


if __name__ == "__main__":
    sys.exit(main())
