"""The door of gRPC of a node: what stands behind it, wired."""

from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from datetime import datetime
from pathlib import Path
from typing import Final

import grpc

from mainspring.dispatcher.office import Office
from mainspring.ports import entropy
from mainspring.ports.clock import utc_now
from mainspring.ports.gateway import ClientGateway, WorkerGateway
from mainspring.runtime.serving import Tls
from mainspring.server.doorkeeper import Doorkeeper
from mainspring.server.grpc.door import Door, open_door

#: Makes a gateway that reaches no further than a tenant.
BindGateway = Callable[[WorkerGateway, str], WorkerGateway]


class GrpcBackroom:
    """What stands behind the services of gRPC."""

    def __init__(
        self,
        *,
        desk: Callable[[str | None], ClientGateway],
        office: Office,
        doorkeeper: Doorkeeper,
        bind: BindGateway,
    ) -> None:
        """Lead to the desk of a tenant, and to bound gateways of the office."""
        self._desk = desk
        self._office = office
        self._bind = bind
        self.doorkeeper: Final = doorkeeper

    def desk(self, tenant: str | None) -> ClientGateway:
        """Return a client's gateway that reaches no further than a tenant."""
        return self._desk(tenant)

    def worker_gateway(self, tenant: str | None, worker_id: bytes) -> WorkerGateway:
        """Return a new gateway for a process of a worker; likewise."""
        gateway = self._office.gateway(worker_id)
        return gateway if tenant is None else self._bind(gateway, tenant)

    def new_worker_id(self) -> bytes:
        """Return a new id."""
        return entropy.new_worker_id()

    def new_job_id(self) -> bytes:
        """Return a new id."""
        return entropy.new_job_id()

    def now(self) -> datetime:
        """Return the present instant."""
        return utc_now()


def credentials(tls: Tls) -> "grpc.ServerCredentials | None":
    """Return what encrypts the door; nothing where it speaks in plain text."""
    if not tls.is_used:
        return None
    certificate = Path(tls.certificate).read_bytes()
    authority = Path(tls.client_authority).read_bytes() if tls.client_authority else None
    return grpc.ssl_server_credentials(
        [(Path(tls.key or tls.certificate).read_bytes(), certificate)],
        root_certificates=authority,
        require_client_auth=authority is not None,
    )


@asynccontextmanager
async def open_grpc(
    backroom: GrpcBackroom,
    address: str,
    *,
    credentials: "grpc.ServerCredentials | None" = None,
    has_reflection: bool = True,
) -> AsyncIterator[Door]:
    """Serve gRPC at ``HOST:PORT`` (port 0: any) for as long as the block lasts."""
    async with open_door(
        backroom, address, credentials=credentials, has_reflection=has_reflection
    ) as door:
        yield door
