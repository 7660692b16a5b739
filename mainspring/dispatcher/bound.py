"""The worker's door for one tenant: it claims jobs of no other, and touches no other's sessions.

A session of another tenant, or of the whole installation, is one that never was; an attempt at
another tenant's job is one that is not held.
"""

from collections.abc import Collection

import msgspec

from mainspring.dispatcher.gateway import LocalGateway
from mainspring.dispatcher.walls import Walled
from mainspring.domain.errors import LeaseLost
from mainspring.domain.ids import show_attempt
from mainspring.domain.job import Claimed
from mainspring.ports.gateway import WorkerGateway

#: A session that nobody has: no hint is ever for it.
_NOBODY = bytes(16)


def bound_gateway(gateway: WorkerGateway, tenant: str) -> WorkerGateway:
    """Return a ``WorkerGateway`` for one tenant, on the store of one that serves all of them.

    Asked again for the same tenant it is the same one, with all that it knows of its claims. It is
    closed with the gateway that it was made of.
    """
    assert isinstance(gateway, LocalGateway), (
        "what is behind a wire is bound by the key that is sent"
    )
    if tenant not in gateway.bound:
        gateway.bound[tenant] = BoundGateway(gateway, tenant)
    return gateway.bound[tenant]


class BoundGateway(LocalGateway):
    """A ``WorkerGateway`` that knows one tenant alone."""

    def __init__(self, gateway: LocalGateway, tenant: str) -> None:
        """Serve workers of this tenant on behalf of a gateway that serves all."""
        adoption = gateway._adoption
        walled = Walled(gateway._store, tenant)
        super().__init__(
            walled,
            blobs=gateway._blobs,
            dice=gateway._dice,
            monotonic=gateway._monotonic,
            inline_bytes=gateway._inline_bytes,
            adoption=None if adoption is None else adoption.bound(walled, tenant),
        )
        self._gateway = gateway
        self._tenant = tenant

    async def recover(self) -> None:
        """Leave that to the gateway of all: what ran out is nobody's any more."""
        await self._gateway.recover()

    async def payload(self, claimed: Claimed) -> bytes:
        """Return the payload of what was claimed here, by what the store says where it lies."""
        fence = (claimed.job_id, claimed.attempt)
        await self._adopt([fence])
        known = self._claimed.get(fence)
        if known is None:
            raise LeaseLost(f"{show_attempt(*fence)} is not held here")
        return await super().payload(
            msgspec.structs.replace(claimed, payload=known.payload, payload_ref=known.payload_ref)
        )

    async def wait_for_work(
        self, worker_id: bytes, queues: Collection[str], timeout_seconds: float
    ) -> bool:
        """Wait for a hint, but for none that is meant for another's session."""
        is_own = await self._store.is_session_of(worker_id, self._tenant)
        return await super().wait_for_work(
            worker_id if is_own else _NOBODY, queues, timeout_seconds
        )

    async def close(self) -> None:
        """Stop listening; store and object store belong to the gateway of all."""
        if self._subscription is not None:
            self._subscription[1].close()
            self._subscription = None
