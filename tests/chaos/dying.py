"""Schedulers that die at a chosen instruction: ``python -m tests.chaos.dying STORE``.

Each point gets a process of its own, forked from this one, that runs the role as the product does
and is gone (as by ``kill -9``: nothing is closed, nothing is said) when it comes to its point. A
line a point tells how the process ended.

``python -m tests.chaos.dying STORE POINT``: one that is not gone there, but frozen. A line says so;
a line that comes in thaws it, the next one ends it in order.
"""

import asyncio
import os
import signal
import sys
from collections.abc import Callable
from typing import Any

import asyncpg.transaction

from mainspring.agenda.judge import advance
from mainspring.agenda.standing import Ruling, Standing
from mainspring.runtime import node
from mainspring.runtime.node import Duties, run_scheduler
from mainspring.runtime.setting_table import Settings
from mainspring.scheduler import firing
from mainspring.store.postgres import pool
from mainspring.store.sqlite import threads
from mainspring.store.sqlite.unit import Unit

#: The status of a process that came to its point.
THERE = 86
#: A process that never comes to its point is ended after so many seconds.
_PATIENCE_SECONDS = 60

#: Where both stores can be left, in the order in which a step comes by.
POINTS = (
    "before the look",
    "before it judges",
    "in the judge 1",
    "after the judge 1",
    "in the judge 3",
    "after the judge 3",
    "before the commit",
    "after the commit",
)
#: What each of them runs while it carries rulings out: dying before, and after, each of these.
STATEMENTS = {
    "sqlite": ("pick_due_schedules", "list_standings", "add_fires", "keep_rulings"),
    "postgres": ("guard_due", "find_standings", "insert_fires", "submit", "update_schedules"),
}


def points(store_url: str) -> list[str]:
    """Return every point at which a scheduler on this store is to die."""
    statements = STATEMENTS["sqlite" if store_url.startswith("sqlite") else "postgres"]
    around = [f"{side} {name}" for name in statements for side in ("before:", "after:")]
    return [*POINTS, *around]


class _Death:
    """Counts down to a point, in a judging transaction; then there is no process any more."""

    def __init__(self, point: str, *, is_frost: bool) -> None:
        self._point = point
        self._is_frost = is_frost
        self._left = 1
        if point.endswith((" 1", " 3")):
            self._point, number = point[:-2], point[-1]
            self._left = int(number)
        #: A ruling of this process is under way, or carried out.
        self.is_judging = False

    def comes(self, point: str) -> None:
        """Die, if this is the point."""
        if point != self._point:
            return
        self._left -= 1
        if self._left == 0 and self._is_frost:
            os.kill(os.getpid(), signal.SIGSTOP)
        elif self._left == 0:
            os._exit(THERE)


def _plant(owner: Any, name: str, value: Any) -> None:
    setattr(owner, name, value)


def _plant_in_role(death: _Death) -> None:

    def judged(standing: Standing, new_id: Callable[[], bytes]) -> Ruling:
        death.comes("in the judge")
        ruling = advance(standing, new_id)
        death.is_judging = death.is_judging or bool(ruling.fires)
        death.comes("after the judge")
        return ruling

    class Dying(firing.Firing):
        async def step(self) -> float:
            death.comes("before the look")
            return await super().step()

        def _announce(self, judged: Any) -> None:
            if judged.schedules:
                death.comes("after the commit")
            super()._announce(judged)

    _plant(firing, "advance", judged)
    _plant(node, "Firing", Dying)


def _plant_in_sqlite(death: _Death) -> None:
    for method in ("rows", "change"):
        _watch_unit(method, death)
    carry_out = threads.DatabaseThread._carry_out

    def carried_out(self: Any, calls: list[Any]) -> None:
        connection = self._connection

        class Watched:
            def execute(self, text: str, *given: Any) -> Any:
                if text == "COMMIT" and death.is_judging:
                    death.comes("before the commit")
                return connection.execute(text, *given)

            def __getattr__(self, name: str) -> Any:
                return getattr(connection, name)

        self._connection = Watched()
        try:
            carry_out(self, calls)
        finally:
            self._connection = connection

    _plant(threads.DatabaseThread, "_carry_out", carried_out)


def _watch_unit(method: str, death: _Death) -> None:
    plain = getattr(Unit, method)

    def watched(self: Unit, name: str, *given: Any) -> Any:
        if name == "pick_due_schedules":
            death.comes("before it judges")
        death.comes(f"before: {name}")
        answer = plain(self, name, *given)
        death.comes(f"after: {name}")
        return answer

    setattr(Unit, method, watched)


def _plant_in_postgres(death: _Death) -> None:
    bind, commit = pool.bind, asyncpg.transaction.Transaction.commit
    before: list[str] = []

    def bound(statement: Any, values: Any) -> list[object]:
        # The next statement is bound when the one before it has been answered.
        if before:
            death.comes(f"after: {before.pop()}")
        if statement.name == "guard_due":
            death.comes("before it judges")
        death.comes(f"before: {statement.name}")
        before.append(statement.name)
        return bind(statement, values)

    async def committed(self: Any) -> None:
        if before:
            death.comes(f"after: {before.pop()}")
        if death.is_judging:
            death.comes("before the commit")
        await commit(self)

    _plant(pool, "bind", bound)
    _plant(asyncpg.transaction.Transaction, "commit", committed)


def _live_until(point: str, store_url: str, *, is_frost: bool = False) -> None:
    signal.alarm(_PATIENCE_SECONDS)
    death = _Death(point, is_frost=is_frost)
    _plant_in_role(death)
    _plant_in_sqlite(death)
    _plant_in_postgres(death)
    asyncio.run(run_scheduler(Settings(store_url=store_url), duties=Duties(maintains=False)))


def main(store_url: str) -> int:
    """Let one die at each point."""
    for point in points(store_url):
        child = os.fork()
        if child == 0:
            _live_until(point, store_url)
            os._exit(0)
        _, status = os.waitpid(child, 0)
        print(f"{os.waitstatus_to_exitcode(status)} {point}", flush=True)
    return 0


def freeze(store_url: str, point: str) -> int:
    """Let one freeze at a point, thaw and end it when told; return its status."""
    child = os.fork()
    if child == 0:
        _live_until(point, store_url, is_frost=True)
        os._exit(0)
    _, status = os.waitpid(child, os.WUNTRACED)
    assert os.WIFSTOPPED(status), status
    print("frozen", flush=True)
    sys.stdin.readline()
    os.kill(child, signal.SIGCONT)
    sys.stdin.readline()
    os.kill(child, signal.SIGTERM)
    _, status = os.waitpid(child, 0)
    return os.waitstatus_to_exitcode(status)


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]) if len(sys.argv) == 2 else freeze(*sys.argv[1:]))
