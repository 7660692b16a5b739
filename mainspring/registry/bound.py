"""The client's door for one tenant: it never reaches beyond it.

What belongs to another tenant is answered, word for word, like what does not exist. What all
tenants share, the pauses of queues and the workers of the installation, is ``Forbidden``.
"""

from collections.abc import Sequence
from contextlib import suppress
from typing import TYPE_CHECKING

import msgspec

from mainspring.domain.access import Principal, Right
from mainspring.domain.errors import InvalidId, InvalidInput, MainspringError, NotFound, with_index
from mainspring.domain.ids import JOB, parse
from mainspring.domain.references import job_of_file, tenant_of_file
from mainspring.ports.gateway import Accepted, ClientGateway, Submission
from mainspring.registry.desk import FrontDesk
from mainspring.registry.walled_operations import WalledOperations
from mainspring.registry.walls import refuse_other

if TYPE_CHECKING:
    from mainspring.registry.access import AccessDesk


def bound_desk(desk: ClientGateway, tenant: str) -> "BoundDesk":
    """Return a ``ClientGateway`` for one tenant, on the store of a desk that serves all of them.

    It is cheap, and needs no closing.
    """
    assert isinstance(desk, FrontDesk), "what is behind a wire is bound by the key that is sent"
    return BoundDesk(desk, tenant)


class BoundDesk(FrontDesk):
    """A ``ClientGateway`` that knows one tenant alone."""

    def __init__(self, desk: FrontDesk, tenant: str) -> None:
        """Serve this tenant on behalf of a desk that serves all of them."""
        super().__init__(
            WalledOperations(desk._store.bound(tenant), tenant),
            blobs=desk._blobs,
            new_id=desk._new_id,
            inline_bytes=desk._inline_bytes,
            payload_bytes=desk._payload_bytes,
            seconds_min=desk._seconds_min,
            webhook_reach=desk._webhook_reach,
        )
        self._desk = desk
        self._whole_store = desk._whole_store
        self._only = tenant
        self._tenant = tenant

    @property
    def access(self) -> "AccessDesk":
        """Return the desk for this tenant's keys and audit."""
        own = Principal(name=f"tenant {self._tenant}", rights=frozenset(Right), tenant=self._tenant)
        return self._desk.access.of(own)

    async def submit(self, wanted: Sequence[Submission]) -> list[Accepted]:
        """Submit for this tenant, in the same inserts as everybody's."""
        own: list[Submission] = []
        for index, item in enumerate(wanted):
            try:
                refuse_other(self._tenant, item.tenant)
            except MainspringError as error:
                raise with_index(error, index, len(wanted)) from None
            own.append(msgspec.structs.replace(item, tenant=self._tenant))
        accepted = await self._desk.submit(own)
        await self._check_chosen(own, accepted)
        return accepted

    async def _check_chosen(
        self, wanted: Sequence[Submission], accepted: Sequence[Accepted]
    ) -> None:
        """Refuse ids that were taken by another tenant's jobs: nothing was inserted under them."""
        met = {
            found.job_id: index
            for index, (item, found) in enumerate(zip(wanted, accepted, strict=True))
            if item.id == found.job_id and not found.created
        }
        if not met:
            return
        tenants = await self._desk._store.tenants_of(met)
        for job_id, index in met.items():
            if tenants.get(job_id, self._tenant) != self._tenant:
                error = InvalidId("id: this one cannot be used", hint="leave it out")
                raise with_index(error, index, len(wanted))

    async def read_file(self, reference: str) -> bytes:
        """Return a file that a handler saved for a job of this tenant."""
        key = self._checked_file(reference)
        missing = NotFound(f"there is no file {key[:256]!r}")
        job_id: bytes | None = None
        with suppress(ValueError, InvalidInput):
            job_id = parse(JOB, job_of_file(key))
        known = await self._store.tenants_of([] if job_id is None else [job_id])
        if not known or tenant_of_file(key) != self._tenant:
            raise missing
        try:
            return await super().read_file(reference)
        except NotFound:
            # The words of the object store tell where on the server it lies.
            raise missing from None

    async def close(self) -> None:
        """Let the desk of all tenants go on."""
