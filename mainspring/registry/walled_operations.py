"""A store as one tenant may see it, with its operations."""

from typing import TYPE_CHECKING, cast

import msgspec

from mainspring.domain.errors import InvalidId
from mainspring.domain.operation import (
    MemberView,
    OperationState,
    OperationView,
    Outcome,
)
from mainspring.ports.operations import Acts, Batch, NewOperation, OperationRecords
from mainspring.registry.walls import Walled, refuse_other

if TYPE_CHECKING:
    from collections.abc import Iterable


class WalledOperations(Walled):
    """With operations of the tenant."""

    async def act(self, batch: Batch, *, actor: str) -> Acts:
        own = set(await self.own([member.job_id for member in batch.members]))
        acts = await self._operations.act(
            msgspec.structs.replace(
                batch, members=tuple(each for each in batch.members if each.job_id in own)
            ),
            actor=actor,
        )
        return msgspec.structs.replace(acts, members=_with_others(batch, acts.members))

    async def create_operation(self, new: NewOperation, *, actor: str) -> OperationView:
        refuse_other(self._tenant, new.tenant or "")
        known = await self._operations.get_operation(new.id)
        if known is not None and known.tenant != self._tenant:
            raise InvalidId("id: this one cannot be used", hint="leave it out")
        return await self._operations.create_operation(new, actor=actor)

    async def get_operation(self, operation_id: bytes) -> OperationView | None:
        found = await self._operations.get_operation(operation_id)
        return found if found is not None and found.tenant == self._tenant else None

    async def list_operations(
        self,
        *,
        states: frozenset[OperationState] = frozenset(),
        tenant: str | None = None,
        limit: int,
        before: bytes | None = None,
    ) -> list[OperationView]:
        refuse_other(self._tenant, tenant)
        return await self._operations.list_operations(
            states=states, tenant=self._tenant, limit=limit, before=before
        )

    async def turn_operation(
        self,
        operation_id: bytes,
        to: OperationState,
        *,
        since: frozenset[OperationState],
        reason: str = "",
        actor: str,
    ) -> OperationView | None:
        if await self.get_operation(operation_id) is None:
            return None
        return await self._operations.turn_operation(
            operation_id, to, since=since, reason=reason, actor=actor
        )

    async def freeze_members(
        self, operation_id: bytes, *, looks: int, most: int
    ) -> OperationView | None:
        if await self.get_operation(operation_id) is None:
            return None
        return await self._operations.freeze_members(operation_id, looks=looks, most=most)

    async def list_members(
        self,
        operation_id: bytes,
        *,
        outcomes: frozenset[Outcome] = frozenset(),
        after: bytes | None = None,
        limit: int,
    ) -> list[MemberView]:
        if await self.get_operation(operation_id) is None:
            return []
        return await self._operations.list_members(
            operation_id, outcomes=outcomes, after=after, limit=limit
        )

    @property
    def _operations(self) -> OperationRecords:
        return cast("OperationRecords", self._store)


def _with_others(batch: Batch, members: "Iterable[MemberView]") -> list[MemberView]:
    """Return what became of each member; those of other tenants do not exist."""
    views = {member.job_id: member for member in members}
    return [
        views.get(each.job_id) or MemberView(each.job_id, each.state, Outcome.LEFT_ALONE, "gone")
        for each in batch.members
    ]
