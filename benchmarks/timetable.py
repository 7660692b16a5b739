"""``python -m benchmarks.timetable``: how fast next fires are computed, beside two other libraries.

Processor time of one process on one core, never wall time, so that others on the machine disturb
little; the best of the rounds counts, the median tells how much they disturbed. The three libraries
take turns within each round. See README.md.
"""

import argparse
import random
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from datetime import UTC, datetime
from functools import partial
from importlib.metadata import version
from pathlib import Path
from statistics import median
from time import process_time
from typing import Any, Final
from zoneinfo import ZoneInfo

import msgspec
from croniter import croniter
from cronsim import CronSim

from benchmarks import machine, results
from mainspring.domain.errors import MainspringError
from mainspring.ports.clock import utc_now
from mainspring.timetable.clocked import Clocked
from mainspring.timetable.cron import cron, parse_cron
from mainspring.timetable.definition import simple_timetable
from mainspring.timetable.text import parse_rule
from mainspring.timetable.zones import zone

FOLDER: Final = results.FOLDER / "timetable"
BEGIN: Final = "<!-- timetable: written by python -m benchmarks.timetable --table -->"
END: Final = "<!-- end of timetable -->"
ZONES: Final = (
    *("America/New_York", "Europe/Berlin", "Europe/London", "Australia/Lord_Howe"),
    *("America/Sao_Paulo", "Asia/Kolkata", "Asia/Tokyo", "UTC"),
)
#: What people write, and all kinds of it.
EXPRESSIONS: Final = (
    *("* * * * *", "*/5 * * * *", "7 * * * *", "*/20 8-18 * * MON-FRI", "0 */2 * * *"),
    *("30 2 * * *", "0 9 * * MON-FRI", "15 3 * * SUN", "0,30 6 * * MON,WED,FRI"),
    *("0 0 1 * *", "0 6 1,15 * *", "0 0 L * *", "0 9 * * MON#1", "0 0 1 1,4,7,10 *"),
)
FAR_AWAY: Final = (
    *("0 0 29 2 1", "0 0 29 2 *", "0 0 ? 2 MON#5", "0 0 31 12 ?", "59 59 23 31 12 ? 2199"),
    *("0 0 0 29 2 ? 2196", "0 0 29 2 TUE#5"),
)
HOSTILE: Final = (
    *("9" * 100_000 + " * * * *", ",".join(["0-59/1"] * 100_000) + " * * * *", "* " * 100_000),
    *("0 0 31 2,4,6,9,11 ?", "0," * 120 + "61 * * * *", "@" + "a" * 255, "0 0 30 2 ? 1970-2199"),
    *(",".join(["*/1"] * 62), "FREQ=YEARLY;BYMONTH=2;BYMONTHDAY=30", "\ud800 * * * *"),
    "FREQ=MONTHLY;BYDAY=MO;BYSETPOS=6",
    "FREQ=MINUTELY;INTERVAL=1440;BYHOUR=3;BYMINUTE=1",
    "FREQ=DAILY;BYMONTH=2;BYMONTHDAY=30;BYHOUR=" + ",".join(map(str, range(24))),
)
TARGETS: Final = {
    "kept_per_second": 500_000,
    "parsed_per_second": 150_000,
    "far_away_us": 1_000,
    "hostile_us": 5_000,
    "million_seconds": 3,
}
_BEGINS: Final = int(datetime(2026, 1, 1, tzinfo=UTC).timestamp())
_YEARS: Final = 2 * 365 * 86_400
_MILLION: Final = 1_000_000

#: A way to compute fires: how often it did so.
Way = Callable[[], int]


class Sizes(msgspec.Struct, frozen=True, kw_only=True):
    """How much is measured."""

    rounds: int = 7
    #: Next fires of each expression in each zone.
    walked: int = 40
    #: Distinct expressions that are parsed.
    parsed: int = 2_000
    #: Schedules that are recomputed; the figure is told for a million.
    schedules: int = _MILLION


def main(words: Sequence[str] | None = None) -> int:
    """Read the command line and do what it says."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.timetable", description=__doc__)
    for name in Sizes.__struct_fields__:
        parser.add_argument(f"--{name}", type=int, default=getattr(Sizes(), name))
    parser.add_argument("--out", type=Path, help="by default results/timetable/DATE.json")
    parser.add_argument("--table", action="store_true", help="only write the README's table anew")
    given = parser.parse_args(words)
    if given.table:
        found = results.read(max(FOLDER.glob("*.json")))
        text = results.README.read_text(encoding="utf-8")
        results.README.write_text(readme_with(found, text), encoding="utf-8")
    else:
        found = run(Sizes(**{name: getattr(given, name) for name in Sizes.__struct_fields__}))
        results.write(found, given.out or FOLDER / f"{found['taken_on']}.json")
    print(table(found))
    return 0


def run(sizes: Sizes) -> dict[str, Any]:
    """Measure and return the result."""
    result = {
        "taken_on": utc_now().date().isoformat(),
        "commit": machine.commit(),
        "machine": machine.facts(),
        "libraries": {name: version(name) for name in ("croniter", "cronsim", "tzdata")},
        "sizes": sizes,
        "targets": TARGETS,
        "figures": {
            "kept": in_turns(kept_ways(sizes.walked), sizes.rounds),
            "parsed": in_turns(parsed_ways(sizes.parsed), sizes.rounds),
            "far_away": slowest(FAR_AWAY, far_away, sizes.rounds),
            "hostile": slowest(HOSTILE, refused, sizes.rounds),
            "million": million(sizes),
        },
    }
    found: dict[str, Any] = msgspec.to_builtins(result)
    return found


# --- one beside the other -------------------------------------------------------


def in_turns(ways: dict[str, Way], rounds: int) -> dict[str, dict[str, float]]:
    """Return the microseconds a fire of each way, after a round that is not counted."""
    spent: dict[str, list[float]] = {name: [] for name in ways}
    for number in range(rounds + 1):
        for name, way in ways.items():
            before = process_time()
            count = way()
            if number:
                spent[name].append((process_time() - before) / count * 1e6)
    return {name: figures(all_rounds) for name, all_rounds in spent.items()}


def figures(microseconds: Sequence[float]) -> dict[str, float]:
    """Sum up the rounds of one way."""
    best = min(microseconds)
    return {
        "best_us": round(best, 3),
        "median_us": round(median(microseconds), 3),
        "per_second": round(1e6 / best) if best else 0,
    }


def kept_ways(walked: int) -> dict[str, Way]:
    """Walk from fire to fire on objects that are kept."""
    pairs = [(text, name) for text in EXPRESSIONS for name in ZONES]
    rules = [Clocked(cron(text), zone(name)).next_at for text, name in pairs]
    tables = [simple_timetable(text, name).next_at for text, name in pairs]
    return {
        "mainspring": partial(_walk_ours, rules, walked),
        "mainspring, timetable": partial(_walk_ours, tables, walked),
        "cronsim": partial(_walk, _simulated, pairs, walked),
        "croniter": partial(_walk, _iterated, pairs, walked),
    }


def _walk_ours(rules: Sequence[Callable[[int], int | None]], walked: int) -> int:
    for next_at in rules:
        at: int | None = _BEGINS
        for _ in range(walked):
            at = next_at(at)  # type: ignore[arg-type]  # a check would be measured, too
    return len(rules) * walked


def _walk(
    begun: Callable[[str, datetime], Callable[[], object]],
    pairs: Sequence[tuple[str, str]],
    walked: int,
) -> int:
    for text, name in pairs:
        step = begun(text, datetime.fromtimestamp(_BEGINS, ZoneInfo(name)))
        for _ in range(walked):
            step()
    return len(pairs) * walked


def _simulated(text: str, wall: datetime) -> Callable[[], object]:
    return CronSim(text, wall).__next__


def _iterated(text: str, wall: datetime) -> Callable[[], object]:
    return partial(croniter(text, wall).get_next, datetime)


def parsed_ways(count: int) -> dict[str, Way]:
    """Parse an expression and compute one fire; few of them share their fields."""
    texts = varied(count)
    dice = random.Random(count)
    instants = [_BEGINS + dice.randrange(_YEARS) for _ in texts]
    names = [ZONES[number % len(ZONES)] for number in range(count)]
    zones = [zone(name) for name in names]
    walls = [
        datetime.fromtimestamp(at, ZoneInfo(name)) for at, name in zip(instants, names, strict=True)
    ]

    def ours() -> int:
        for text, at, there in zip(texts, instants, zones, strict=True):
            Clocked(parse_cron(text), there).next_at(at)
        return count

    def simulated() -> int:
        for text, wall in zip(texts, walls, strict=True):
            next(CronSim(text, wall))
        return count

    def iterated() -> int:
        for text, wall in zip(texts, walls, strict=True):
            croniter(text, wall).get_next(datetime)
        return count

    return {"mainspring": ours, "cronsim": simulated, "croniter": iterated}


def varied(count: int) -> list[str]:
    """Return expressions as a large installation has them, the same ones every time."""
    dice = random.Random("schedules")
    found: list[str] = []
    for _ in range(count):
        minute, hour, day = dice.randrange(60), dice.randrange(24), dice.randrange(1, 29)
        step, weekdays = dice.choice((5, 10, 15, 20)), dice.choice(("MON-FRI", "1", "SUN", "1,3,5"))
        forms = (
            *(f"{minute} {hour} * * *",) * 4,
            *(f"{minute} {hour} * * {weekdays}",) * 3,
            *(f"*/{step} * * * *", f"{minute} * * * *", f"*/{step} {hour % 12}-{hour} * * MON-FRI"),
            *(f"{minute} {hour} {day} * *", f"{minute} {hour} L * *", f"{minute} */2 * * *"),
        )
        text = dice.choice(forms)
        found.append(text if hour % 12 <= hour else f"{minute} {hour} * * *")
    return found


# --- one at a time --------------------------------------------------------------


def slowest(
    texts: Iterable[str], work: Callable[[str], None], rounds: int
) -> list[dict[str, float | str]]:
    """Return the best time of each text, the slowest text first."""
    found: list[dict[str, float | str]] = []
    for text in texts:
        spent = []
        for _ in range(rounds):
            before = process_time()
            work(text)
            spent.append((process_time() - before) * 1e6)
        shown = text if len(text) <= 64 else f"{text[:24]}… ({len(text):,} characters)"
        shown = shown.encode("ascii", "backslashreplace").decode() if text[0] > "~" else shown
        found.append({"text": shown, "best_us": round(min(spent), 1)})
    return sorted(found, key=lambda each: -float(each["best_us"]))


def far_away(text: str) -> None:
    """Compile an expression and find its next fire from the worst places."""
    source = Clocked(parse_cron(text), zone("America/New_York"))
    for year in (1970, 1972, 2097, 2104):
        source.next_at(int(datetime(year, 3, 1, tzinfo=UTC).timestamp()))


def refused(text: str) -> None:
    """Give a text that has to be refused."""
    try:
        parse_rule.__wrapped__(text, zone("UTC"))
    except MainspringError:
        return
    raise AssertionError(f"{text[:64]!r} was taken")


def million(sizes: Sizes) -> dict[str, float]:
    """Recompute schedules, each at its own instant, with timetables from the cache."""
    texts = varied(max(sizes.schedules // 100, 1))
    dice = random.Random(sizes.schedules)
    chosen = [
        (dice.choice(texts), dice.choice(ZONES), _BEGINS + dice.randrange(_YEARS))
        for _ in range(sizes.schedules)
    ]
    spent = []
    for _ in range(min(sizes.rounds, 3) + 1):
        before = process_time()
        for text, name, at in chosen:
            simple_timetable(text, name).next_at(at)
        spent.append((process_time() - before) / sizes.schedules * _MILLION)
    return {
        "schedules": sizes.schedules,
        "distinct": len({(text, name) for text, name, _ in chosen}),
        # The first time compiles all of them.
        "cold_seconds": round(spent[0], 3),
        "best_seconds": round(min(spent[1:]), 3),
    }


# --- the table ------------------------------------------------------------------


def readme_with(result: dict[str, Any], text: str) -> str:
    """Return the README with the table of this result."""
    before, _, rest = text.partition(BEGIN)
    _, _, after = rest.partition(END)
    return f"{before}{BEGIN}\n\n{table(result)}\n\n{END}{after}"


def table(result: dict[str, Any]) -> str:
    """Return the figures as Markdown."""
    libraries, facts, found = result["libraries"], result["machine"], result["figures"]
    told = (
        f"{result['taken_on']}, commit `{result['commit']}`, one core of {facts['processor']}, "
        f"Python {facts['python']}, cronsim {libraries['cronsim']}, croniter "
        f"{libraries['croniter']}; processor time, best of {result['sizes']['rounds']} rounds."
    )
    head = ("next fire in a zone", "µs", "median µs", "a second", "of ours", "target a second")
    lines = [told, "", _row(*head), _row(*["---"] * len(head))]
    for name, what in (("kept", "compiled"), ("parsed", "with parsing")):
        target = result["targets"][f"{name}_per_second"]
        lines += [_row(*cells) for cells in _beside(found[name], what, target)]
    lines += ["", _row("one at a time", "found", "target"), _row("---", "---", "---")]
    lines += [_row(*cells) for cells in _alone(found, result["targets"])]
    return "\n".join(lines)


def _beside(found: dict[str, dict[str, float]], what: str, target: int) -> Iterator[list[str]]:
    ours = found["mainspring"]["best_us"]
    for library, figure in found.items():
        told = [f"{figure['best_us']:.2f}", f"{figure['median_us']:.2f}"]
        told += [f"{figure['per_second']:,}", f"{figure['best_us'] / ours:.1f}"]
        is_ours = library.startswith("mainspring")
        yield [f"{what}: {library}", *told, f"{target:,}" if is_ours else ""]


def _alone(found: dict[str, Any], targets: dict[str, int]) -> Iterator[list[str]]:
    far, hostile, everything = found["far_away"][0], found["hostile"][0], found["million"]
    yield [
        f"parsing and four far-away fires, the slowest: `{far['text']}`",
        f"{far['best_us']:,.0f} µs",
        f"{targets['far_away_us']:,} µs a fire",
    ]
    yield [
        f"refusing a hostile text, the slowest: `{hostile['text']}`",
        f"{hostile['best_us']:,.0f} µs",
        f"{targets['hostile_us']:,} µs",
    ]
    yield [
        f"a million schedules, {everything['distinct']:,} different ones",
        f"{everything['best_seconds']:.2f} s; {everything['cold_seconds']:.2f} s from texts",
        f"{targets['million_seconds']} s",
    ]


def _row(*cells: str) -> str:
    return "| " + " | ".join(cells) + " |"


if __name__ == "__main__":
    sys.exit(main())
