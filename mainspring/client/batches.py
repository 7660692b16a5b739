"""Many jobs at once: submitted in chunks, waited for in whatever order they end."""

from collections.abc import Iterable, Iterator, Mapping
from itertools import islice
from typing import Any, Final, Generic, TypeVar

from mainspring.app.declare import Call
from mainspring.app.durations import milliseconds
from mainspring.app.handles import Handle
from mainspring.app.results import Duration
from mainspring.domain.errors import InvalidInput, MainspringError, ResultTimeout
from mainspring.domain.limits import SUBMIT_JOBS_MAX
from mainspring.domain.names import check_range
from mainspring.ports.clock import monotonic
from mainspring.ports.gateway import ClientGateway

R = TypeVar("R")
T = TypeVar("T")
_ASK_SECONDS: Final = 30.0


def chunks(calls: Iterable[Call[R]], size: int) -> Iterator[list[Call[R]]]:
    """Return calls by the chunk, each of which is one transaction; nothing is read ahead."""
    check_range("chunk", size, 1, SUBMIT_JOBS_MAX)
    if isinstance(calls, Call):
        raise InvalidInput("one call is no list of calls", hint="submit it with submit()")
    rest = iter(_listed(calls, "calls", "write client.submit_many([job.call(...), ...])"))
    while chunk := list(islice(rest, size)):
        for place, call in enumerate(chunk):
            if not isinstance(call, Call):
                raise InvalidInput(
                    f"item {place + 1} is a {type(call).__name__}, no call",
                    hint="write job.call(...), which sends nothing yet",
                )
        yield chunk


def _listed(given: Iterable[T], name: str, hint: str) -> Iterable[T]:
    found: object = given
    if isinstance(found, Iterable) and not isinstance(found, str | bytes | Mapping):
        return given
    raise InvalidInput(f"{name}: {given!r} is no list", hint=hint)


def with_handles(error: MainspringError, handles: list[Handle[Any]]) -> MainspringError:
    """Tell what was submitted already when a later chunk failed."""
    error.details["submitted"] = [handle.id for handle in handles]
    return error


class Completing(Generic[R]):
    """Handles, in the order in which their jobs end."""

    def __init__(self, handles: Iterable[Handle[R]], timeout: Duration | None) -> None:
        """Wait for all of them, at most for ``timeout`` altogether."""
        self._left: dict[bytes, list[Handle[R]]] = {}
        for handle in _listed(handles, "handles", "give what submit_many returned"):
            given: object = handle
            if not isinstance(given, Handle):
                raise InvalidInput(
                    f"{given!r} is no handle", hint="client.handle(job_id) makes one of an id"
                )
            self._left.setdefault(handle.raw, []).append(handle)
        self._count = len(self._left)
        self._timeout = timeout
        self._until: float | None = None
        if timeout is not None:
            self._until = monotonic() + milliseconds(timeout, name="timeout") / 1_000

    @property
    def is_waiting(self) -> bool:
        """Tell whether some have not ended yet."""
        return bool(self._left)

    async def step(self, gateway: ClientGateway) -> list[Handle[R]]:
        """Return those that have ended since, as soon as there are any."""
        seconds = _ASK_SECONDS
        if self._until is not None:
            seconds = min(seconds, max(0.0, self._until - monotonic()))
        ended = await gateway.wait_for_ends(list(self._left), seconds)
        if not ended and self._until is not None and monotonic() >= self._until:
            raise ResultTimeout(
                f"{len(self._left)} of {self._count} jobs have not ended after {self._timeout}; "
                "they go on",
                hint="wait again with the same handles, or cancel them",
                details={"left": [handles[0].id for handles in self._left.values()][:100]},
            )
        return [handle for job_id in ended for handle in self._left.pop(job_id)]
