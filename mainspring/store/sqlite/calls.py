"""Calls on their way from an event loop to a database thread, and their answers back."""

import asyncio
from collections.abc import Callable, Iterable
from typing import Any, Final, Generic, Protocol, TypeVar

from mainspring.store.sqlite.unit import Unit

Given = TypeVar("Given")
Answer = TypeVar("Answer")

Work = Callable[[Unit], Any]


class Joined(Protocol, Generic[Given, Answer]):
    """Work that many callers' arguments can share: one set of statements for all of them.

    It must answer as if each had been carried out alone, one after the other.
    """

    def __call__(self, unit: Unit, given: list[Given], /) -> list[Answer]:
        """Carry out all arguments; answers in the order given."""
        ...


class Call:
    """One caller's wish, where to put the answer, and the answer."""

    __slots__ = ("answer", "error", "future", "given", "joined", "loop", "work")

    def __init__(
        self, work: Work | None, joined: Joined[Any, Any] | None = None, given: Any = None
    ) -> None:
        self.work: Final = work
        self.joined: Final = joined
        self.given: Final = given
        self.loop: Final = asyncio.get_running_loop()
        self.future: Final[asyncio.Future[Any]] = self.loop.create_future()
        self.answer: Any = None
        self.error: BaseException | None = None

    @property
    def abandoned(self) -> bool:
        """Tell whether the caller has gone before its turn came."""
        return self.future.cancelled()


def deliver(calls: Iterable[Call]) -> None:
    """Hand the answers to their loops: one wake-up a loop, however many callers it has."""
    by_loop: dict[asyncio.AbstractEventLoop, list[Call]] = {}
    for call in calls:
        by_loop.setdefault(call.loop, []).append(call)
    for loop, answered in by_loop.items():
        try:
            loop.call_soon_threadsafe(_resolve, answered)
        except RuntimeError:
            # The loop was closed meanwhile: nobody is left to be told.
            continue


def _resolve(calls: list[Call]) -> None:
    for call in calls:
        if call.future.done():
            continue
        if call.error is None:
            call.future.set_result(call.answer)
        else:
            call.future.set_exception(call.error)


def units_of(calls: Iterable[Call]) -> list[list[Call]]:
    """Group the calls that can be carried out together; each group in the order of arrival."""
    units: list[list[Call]] = []
    open_units: dict[int, list[Call]] = {}
    for call in calls:
        if call.abandoned:
            continue
        if call.joined is None:
            units.append([call])
            continue
        unit = open_units.get(id(call.joined))
        if unit is None:
            unit = open_units[id(call.joined)] = []
            units.append(unit)
        unit.append(call)
    return units
