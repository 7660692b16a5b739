"""``python -m benchmarks.crowd``: what many schedulers on one store cost, and who fires.

Schedules that fire every second, and 1, 10 and 100 schedulers as nodes have them, all in this
process. Counted are the questions that they put to the store, how many of them ever fired, and how
late the ledger was decided. Then the eager one is stopped: how late is the next fire?
"""

import argparse
import asyncio
import json
import sys
from collections import Counter
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, Final

from benchmarks import machine, results
from benchmarks.rounds import POSTGRES_SETTINGS
from mainspring.agenda.changes import create
from mainspring.agenda.spec import Spec, Work, spec_text
from mainspring.policies.firing import Policies
from mainspring.ports.clock import pause_seconds, utc_now
from mainspring.ports.entropy import new_job_id, roll
from mainspring.ports.schedules import NewSchedule
from mainspring.ports.store import Store
from mainspring.runtime.loop import Ear, run_role
from mainspring.scheduler.firing import TOPICS, Firing
from mainspring.store.postgres import open_postgres
from mainspring.testing.servers import PostgresServer
from mainspring.timetable.definition import Definition
from mainspring.timetable.zones import zone_data_number

_SCHEDULES: Final = 20


class Counted:
    """A store whose questions are counted, by who asks."""

    def __init__(self, store: Store, asked: Counter[str], fired: set[int], number: int) -> None:
        """Count into ``asked``; note the asker's number once it has judged something."""
        self._store = store
        self._asked = asked
        self._fired = fired
        self._number = number

    def __getattr__(self, name: str) -> Any:
        found = getattr(self._store, name)
        if name == "wakeups":
            return found

        async def ask(*arguments: Any, **named: Any) -> Any:
            self._asked[name] += 1
            answer = await found(*arguments, **named)
            if name == "judge_due" and answer.schedules:
                self._fired.add(self._number)
            return answer

        return ask


async def _crowd(dsn: str, count: int, seconds: float, settle_seconds: float) -> dict[str, Any]:
    store = await open_postgres(dsn)
    await store.migrate(phase="all")
    asked: Counter[str] = Counter()
    fired: set[int] = set()
    stopping = [asyncio.Event() for _ in range(count)]
    ids = await _schedules(store)
    async with asyncio.TaskGroup() as group:
        for number, stop in enumerate(stopping):
            counted: Any = Counted(store, asked, fired, number)
            firing = Firing(counted, new_id=new_job_id, roll=roll)
            hints = store.wakeups.subscribe(TOPICS)
            ear = _ear(hints, firing)
            group.create_task(run_role("scheduler", firing.step, stop, ear=ear))
        await pause_seconds(settle_seconds)
        asked.clear()
        fired.clear()
        await pause_seconds(seconds)
        found = dict(asked)
        eager = sorted(fired)
        gap = await _stop_the_eager(store, ids, stopping, eager) if count > len(eager) else None
        for stop in stopping:
            stop.set()
    await store.close()
    return {
        "schedulers": count,
        "questions_per_second": {name: round(n / seconds, 2) for name, n in sorted(found.items())},
        "schedulers_that_fired": len(eager),
        "seconds_until_others_fire": gap,
    }


def _ear(hints: Any, firing: Firing) -> Callable[[], Ear]:
    return lambda: Ear(hints, firing.deaf_seconds)


async def _schedules(store: Store) -> list[bytes]:
    ids = []
    for number in range(_SCHEDULES):
        # One that pauses after failures is judged when it is due, never ahead: each fire counts.
        policies = Policies(overlap="allow", pause_after_failures=1_000)
        spec = Spec(
            times=Definition(when=("* * * * * *",)), work=Work(kind="nothing"), policies=policies
        )
        new = NewSchedule(
            id=new_job_id(),
            tenant="default",
            name=f"s{number}",
            spec=spec_text(spec),
            calendars=None,
            zones=zone_data_number(),
            is_exclusive=False,
            pause_after_failures=1_000,
        )
        await store.create_schedule(
            new, lambda standing: create(standing, new_job_id), actor="benchmark"
        )
        ids.append(new.id)
    return ids


async def _stop_the_eager(
    store: Store, ids: Sequence[bytes], stopping: Sequence[asyncio.Event], eager: Sequence[int]
) -> float:
    """Stop those that fire; return for how long nothing was decided after that."""
    for number in eager:
        stopping[number].set()
    stopped_at = utc_now()
    while True:
        rows = [row for each in ids for row in await store.list_fires(each, limit=3)]
        after = [row.decided_at for row in rows if row.decided_at > stopped_at]
        if after:
            # The one that was under way when it was told to stop does not count.
            late = [at for at in after if (at - stopped_at).total_seconds() > 0.05]
            if late:
                return round((min(late) - stopped_at).total_seconds(), 3)
        await pause_seconds(0.05)


def main(words: Sequence[str] | None = None) -> int:
    """Read the command line, measure, write the result."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.crowd", description=__doc__)
    parser.add_argument("--counts", default="1,10,100")
    parser.add_argument("--seconds", type=float, default=15.0)
    parser.add_argument("--settle", type=float, default=5.0)
    parser.add_argument("--postgres", default="15")
    parser.add_argument("--out", type=Path)
    given = parser.parse_args(words)
    found = []
    with PostgresServer(given.postgres, fsync=True, settings=POSTGRES_SETTINGS) as server:
        for count in map(int, given.counts.split(",")):
            dsn = server.create_database()
            found.append(asyncio.run(_crowd(dsn, count, given.seconds, given.settle)))
            print(json.dumps(found[-1]), file=sys.stderr, flush=True)
            server.drop_database(dsn)
    result = {
        "taken_on": utc_now().date().isoformat(),
        "commit": machine.commit(),
        "machine": machine.facts(),
        "postgres": given.postgres,
        "schedules": _SCHEDULES,
        "crowds": found,
    }
    out = given.out or results.FOLDER / "crowd" / f"{result['taken_on']}.json"
    results.write(result, out)
    return 0


if __name__ == "__main__":
    sys.exit(main())
