"""A server of gRPC in this process, and gateways that reach it over a real connection."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

from mainspring.dispatcher.judgement import fixed_dice
from mainspring.dispatcher.office import Office
from mainspring.domain.access import EVERYBODY, Principal
from mainspring.ports.blobs import BlobStore
from mainspring.ports.clock import monotonic
from mainspring.ports.entropy import new_job_id
from mainspring.ports.gateway import WorkerGateway
from mainspring.ports.store import Store
from mainspring.registry.desk import FrontDesk
from mainspring.remote.channel import Channel
from mainspring.remote.gateway import RemoteGateway
from mainspring.runtime.grpc_serving import GrpcBackroom, open_grpc
from mainspring.server.doorkeeper import Doorkeeper, OpenDoorkeeper
from mainspring.server.grpc.door import Door


def backroom_on(
    store: Store, blobs: BlobStore | None, doorkeeper: Doorkeeper | None = None
) -> GrpcBackroom:
    """What a server leads to, on this store."""
    desk = FrontDesk(store, blobs=blobs, new_id=new_job_id)
    office = Office(
        store, blobs=blobs, dice=fixed_dice(lambda: 0.0, new_job_id), monotonic=monotonic
    )
    return GrpcBackroom(
        desk=lambda tenant: desk,
        office=office,
        doorkeeper=doorkeeper or OpenDoorkeeper(),
        bind=unbound,
    )


def unbound(gateway: WorkerGateway, tenant: str) -> WorkerGateway:
    """Bind nothing: walls between tenants have tests of their own."""
    return gateway


@asynccontextmanager
async def serving(store: Store, blobs: BlobStore | None, **changes: Any) -> AsyncIterator[Door]:
    """Serve on a port of the system's choice."""
    doorkeeper = changes.pop("doorkeeper", None)
    backroom = backroom_on(store, blobs, doorkeeper)
    async with open_grpc(backroom, "127.0.0.1:0", **changes) as door:
        yield door


def gateway_to(port: int, key: str = "") -> RemoteGateway:
    """A new gateway to the server at this port."""
    return RemoteGateway(Channel(f"grpc://127.0.0.1:{port}", key=key), monotonic=monotonic)


class ByKey:
    """A doorkeeper that knows the principals that it was given, by their keys."""

    def __init__(self, **principals: Principal) -> None:
        self.principals = principals
        self.shown: list[tuple[str | None, str, str | None]] = []

    async def admit(
        self, authorization: str | None, peer: str, certificate: str | None = None
    ) -> Principal:
        from mainspring.domain.errors import Unauthenticated

        self.shown.append((authorization, peer, certificate))
        found = self.principals.get((authorization or "").removeprefix("Bearer "))
        if found is None:
            raise Unauthenticated
        return found

    def known(self, authorization: str) -> Principal | None:
        return None

    def doubt(self) -> None:
        """Nobody is remembered."""


assert EVERYBODY.tenant is None
