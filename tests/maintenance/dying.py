"""Nodes that die while they carry operations on: ``python -m tests.maintenance.dying STORE``.

Each is a process of its own, forked from this one, and is gone (as by ``kill -9``) at one of the
instructions that a step sends to its store: the first dies at the first one, the next at the second
one, and so on, before it is sent, until one of them comes to the end. A line tells how many died.
"""

import asyncio
import os
import sys
from collections.abc import Callable
from typing import Any

import asyncpg.transaction

from mainspring.maintenance.operations import Carrying
from mainspring.runtime.assemble import open_store
from mainspring.runtime.setting_table import Settings
from mainspring.store.postgres import control, operating, pool
from mainspring.store.sqlite import threads
from mainspring.store.sqlite.unit import Unit

_THERE = 86
_DEATHS_MAX = 500


def _plant(owner: Any, name: str, value: Any) -> None:
    setattr(owner, name, value)


def _counting(left: int) -> Callable[[], None]:
    count = [left]

    def comes() -> None:
        count[0] -= 1
        if count[0] == 0:
            os._exit(_THERE)

    return comes


def _plant_deaths(comes: Callable[[], None]) -> None:
    for method in ("rows", "change"):
        plain = getattr(Unit, method)

        def watched(self: Unit, name: str, *given: Any, plain: Any = plain) -> Any:
            comes()
            return plain(self, name, *given)

        _plant(Unit, method, watched)
    carry_out = threads.DatabaseThread._carry_out

    def carried_out(self: Any, calls: list[Any]) -> None:
        carry_out(self, calls)
        # What was committed is known to nobody.
        comes()

    _plant(threads.DatabaseThread, "_carry_out", carried_out)
    bind, commit = pool.bind, asyncpg.transaction.Transaction.commit

    def bound(statement: Any, values: Any) -> list[object]:
        comes()
        return bind(statement, values)

    async def committed(self: Any) -> None:
        comes()
        await commit(self)
        comes()

    for module in (pool, operating, control):
        _plant(module, "bind", bound)
    _plant(asyncpg.transaction.Transaction, "commit", committed)


async def _carry_on(store_url: str, left: int) -> None:
    store = await open_store(Settings(store_url=store_url))
    _plant_deaths(_counting(left))
    role = Carrying(store, blobs=None, batch_jobs=4)
    while (await store.pick_operations(1)).ids:
        await role.step()
    await store.close()


def main(store_url: str) -> int:
    """Let one after the other die, each a little later."""
    for left in range(1, _DEATHS_MAX):
        child = os.fork()
        if child == 0:
            asyncio.run(_carry_on(store_url, left))
            os._exit(0)
        _, status = os.waitpid(child, 0)
        code = os.waitstatus_to_exitcode(status)
        if code != _THERE:
            print(left - 1, flush=True)
            return code
    return 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
