"""What stands behind the services: desks for clients, and a seat for each process of a worker."""

from collections.abc import Callable
from datetime import datetime
from typing import Final, Protocol

from mainspring.domain.access import Principal
from mainspring.ports.gateway import ClientGateway, WorkerGateway
from mainspring.server.doorkeeper import Doorkeeper

#: Whoever waits for work, or runs some, is heard of more often than this. The store knows all that
#: a seat knows, so who comes back later gets another one.
_UNUSED_SECONDS: Final = 90.0


class Backroom(Protocol):
    """Leads to what a principal may reach, and no further."""

    @property
    def doorkeeper(self) -> Doorkeeper:
        """Return who knows everybody."""
        ...

    def desk(self, tenant: str | None) -> ClientGateway:
        """Return a client's gateway that reaches no further than a tenant."""
        ...

    def worker_gateway(self, tenant: str | None, worker_id: bytes) -> WorkerGateway:
        """Return a new gateway for a process of a worker; likewise."""
        ...

    def new_worker_id(self) -> bytes:
        """Return a new id."""
        ...

    def new_job_id(self) -> bytes:
        """Return a new id."""
        ...

    def now(self) -> datetime:
        """Return the present instant, for log lines that bring none."""
        ...


class _Seat:
    __slots__ = ("gateway", "used_at")

    def __init__(self, gateway: WorkerGateway, used_at: float) -> None:
        self.gateway = gateway
        self.used_at = used_at


class Seats:
    """The gateways of all processes that are served here, made when first asked for."""

    def __init__(self, backroom: Backroom, monotonic: Callable[[], float]) -> None:
        """Begin without any."""
        self._backroom = backroom
        self._monotonic = monotonic
        self._seats: dict[tuple[str | None, bytes, int], _Seat] = {}

    def seat(self, principal: Principal, worker_id: bytes, child: int = 0) -> WorkerGateway:
        """Return the gateway of one process of a worker."""
        key = (principal.tenant, worker_id, child)
        found = self._seats.pop(key, None)
        if found is None:
            gateway = self._backroom.worker_gateway(principal.tenant, worker_id)
            found = _Seat(gateway, 0.0)
        found.used_at = self._monotonic()
        # The one that was used last comes last.
        self._seats[key] = found
        return found.gateway

    async def leave(self, principal: Principal, worker_id: bytes) -> None:
        """Forget all processes of a worker whose session is over."""
        mine = (principal.tenant, worker_id)
        children = [key for key in self._seats if key[:2] == mine]
        for key in children:
            await self._seats.pop(key).gateway.close()

    async def trim(self) -> None:
        """Give up seats that nobody uses any more."""
        while self._seats:
            key, oldest = next(iter(self._seats.items()))
            if self._monotonic() - oldest.used_at < _UNUSED_SECONDS:
                return
            del self._seats[key]
            await oldest.gateway.close()
