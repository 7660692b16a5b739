"""Calls that are submitted together, through one door."""

from collections.abc import Iterable
from typing import TypeVar

from mainspring.app.declare import Call
from mainspring.app.handles import Handle
from mainspring.ports.door import Door
from mainspring.ports.gateway import Accepted

R = TypeVar("R")


class Batches:
    """What ``app.using(connection)`` returns.

    >>> with transaction.atomic():
    ...     app.using("default").submit_many(charge.call(order_id=order.id) for order in orders)
    """

    def __init__(self, door: Door) -> None:
        """Submit through ``door``."""
        self._door = door

    def submit_many(self, calls: Iterable[Call[R]]) -> list[Handle[R]]:
        """Submit all calls, or none."""
        wanted = list(calls)
        if not wanted:
            return []
        return self._handles(wanted, self._door.submit([call.submission for call in wanted]))

    async def asubmit_many(self, calls: Iterable[Call[R]]) -> list[Handle[R]]:
        """Submit all calls, or none."""
        wanted = list(calls)
        if not wanted:
            return []
        answers = await self._door.asubmit([call.submission for call in wanted])
        return self._handles(wanted, answers)

    def _handles(self, calls: list[Call[R]], answers: list[Accepted]) -> list[Handle[R]]:
        return [
            Handle(self._door, answer.job_id, codec=call.job.handler.codec, created=answer.created)
            for call, answer in zip(calls, answers, strict=True)
        ]
