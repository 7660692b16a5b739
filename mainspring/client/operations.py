"""Operations for code on an event loop."""

from collections.abc import AsyncIterator, Collection
from typing import Final, Unpack

from mainspring.app.results import Duration
from mainspring.client import operating
from mainspring.client.finding import Search
from mainspring.client.operating import (
    BulkOperation,
    Decided,
    FollowingOperation,
    OperationKeywords,
    PreviewedOperation,
)
from mainspring.ports.door import Door

#: Inside the namespace ``list`` is a method.
list_ = list
_PAGE: Final = 50
_MEMBERS: Final = 500
Named = str | BulkOperation | PreviewedOperation


class AsyncOperations:
    """Bulk actions that outlive whoever asked for them: ``client.operations``.

    >>> preview = await client.operations.preview("replay", "state:dead kind:charge", canary=1)
    >>> print(preview.operation.progress.matched)
    >>> await client.operations.confirm(preview)

    The set is frozen: jobs that came or moved after that instant are left alone. Any node that
    maintains carries an operation on; pausing and aborting take effect between two batches.
    """

    def __init__(self, door: Door) -> None:
        """Ask through ``door``."""
        self._door = door

    async def preview(
        self, action: str, query: str | Search, /, **options: Unpack[OperationKeywords]
    ) -> PreviewedOperation:
        """Say what an operation would be about; it begins when it is confirmed."""
        return await self._door.aask(operating.preview(self._door, action, query, options))

    async def start(
        self, action: str, query: str | Search, /, **options: Unpack[OperationKeywords]
    ) -> BulkOperation:
        """Begin to ``retry``, ``cancel``, ``replay`` or ``purge`` what a search finds.

        >>> await client.operations.start("retry", "state:retrying kind:sync.*", rate="50/s")
        """
        return await self._door.aask(operating.start(self._door, action, query, options))

    async def confirm(self, operation: Named) -> BulkOperation:
        """Begin what was previewed, about the jobs as they stood then."""
        return await self._door.aask(operating.confirm(self._door, operation))

    async def get(self, operation: Named) -> BulkOperation:
        """Return an operation as it is now, or raise ``NotFound``."""
        return await self._door.aask(operating.get(operation))

    async def list(
        self,
        *,
        states: Collection[str] = (),
        tenant: str | None = None,
        limit: int = _PAGE,
        before: Named | None = None,
    ) -> "list_[BulkOperation]":
        """Return operations, newest first; ``before`` continues after the last one."""
        return await self._door.aask(operating.page(states, tenant, limit, before))

    async def pause(self, operation: Named, *, reason: str = "") -> BulkOperation:
        """Change nothing more until it is resumed; ``Conflict`` if it does not run."""
        return await self._door.aask(operating.pause(self._door, operation, reason))

    async def resume(self, operation: Named) -> BulkOperation:
        """Go on with one that is paused or failed."""
        return await self._door.aask(operating.resume(self._door, operation))

    async def abort(self, operation: Named, *, reason: str = "") -> BulkOperation:
        """Change nothing more for good; what was changed stays so."""
        return await self._door.aask(operating.abort(self._door, operation, reason))

    async def members(
        self,
        operation: Named,
        *,
        outcomes: Collection[str] = (),
        limit: int = _MEMBERS,
        after: Decided | None = None,
    ) -> "list_[Decided]":
        """Return what became of its jobs so far, oldest first; ``after`` continues."""
        cursor = None if after is None else after.view.job_id
        return await self._door.aask(operating.members(operation, outcomes, limit, cursor))

    async def wait(self, operation: Named, timeout: Duration | None = None) -> BulkOperation:
        """Return it once it does not run any more: done, paused, aborted or failed."""
        following = FollowingOperation(operation, timeout)
        while True:
            found = await self._door.aask(following.step)
            if following.is_over:
                return found

    async def follow(
        self, operation: Named, timeout: Duration | None = None
    ) -> AsyncIterator[BulkOperation]:
        """Yield it as it is now, and whenever it is further, until it does not run any more.

        >>> async for op in client.operations.follow(op):
        ...     print(op.progress.changed, op.goal)
        """
        following = FollowingOperation(operation, timeout)
        while not following.is_over:
            yield await self._door.aask(following.step)
