"""Operations for code without an event loop: the same questions, each waits."""

from collections.abc import Collection, Iterator
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


class BlockingOperations:
    """Bulk actions that outlive whoever asked for them: ``client.operations``.

    >>> preview = client.operations.preview("replay", "state:dead kind:charge", canary=1)
    >>> print(preview.operation.progress.matched)
    >>> client.operations.confirm(preview)

    The set is frozen: jobs that came or moved after that instant are left alone. Any node that
    maintains carries an operation on; pausing and aborting take effect between two batches.
    """

    def __init__(self, door: Door) -> None:
        """Ask through ``door``."""
        self._door = door

    def preview(
        self, action: str, query: str | Search, /, **options: Unpack[OperationKeywords]
    ) -> PreviewedOperation:
        """Say what an operation would be about; it begins when it is confirmed."""
        return self._door.ask(operating.preview(self._door, action, query, options))

    def start(
        self, action: str, query: str | Search, /, **options: Unpack[OperationKeywords]
    ) -> BulkOperation:
        """Begin to ``retry``, ``cancel``, ``replay`` or ``purge`` what a search finds.

        >>> client.operations.start("retry", "state:retrying kind:sync.*", rate="50/s")
        """
        return self._door.ask(operating.start(self._door, action, query, options))

    def confirm(self, operation: Named) -> BulkOperation:
        """Begin what was previewed, about the jobs as they stood then."""
        return self._door.ask(operating.confirm(self._door, operation))

    def get(self, operation: Named) -> BulkOperation:
        """Return an operation as it is now, or raise ``NotFound``."""
        return self._door.ask(operating.get(operation))

    def list(
        self,
        *,
        states: Collection[str] = (),
        tenant: str | None = None,
        limit: int = _PAGE,
        before: Named | None = None,
    ) -> "list_[BulkOperation]":
        """Return operations, newest first; ``before`` continues after the last one."""
        return self._door.ask(operating.page(states, tenant, limit, before))

    def pause(self, operation: Named, *, reason: str = "") -> BulkOperation:
        """Change nothing more until it is resumed; ``Conflict`` if it does not run."""
        return self._door.ask(operating.pause(self._door, operation, reason))

    def resume(self, operation: Named) -> BulkOperation:
        """Go on with one that is paused or failed."""
        return self._door.ask(operating.resume(self._door, operation))

    def abort(self, operation: Named, *, reason: str = "") -> BulkOperation:
        """Change nothing more for good; what was changed stays so."""
        return self._door.ask(operating.abort(self._door, operation, reason))

    def members(
        self,
        operation: Named,
        *,
        outcomes: Collection[str] = (),
        limit: int = _MEMBERS,
        after: Decided | None = None,
    ) -> "list_[Decided]":
        """Return what became of its jobs so far, oldest first; ``after`` continues."""
        cursor = None if after is None else after.view.job_id
        return self._door.ask(operating.members(operation, outcomes, limit, cursor))

    def wait(self, operation: Named, timeout: Duration | None = None) -> BulkOperation:
        """Return it once it does not run any more: done, paused, aborted or failed."""
        following = FollowingOperation(operation, timeout)
        while True:
            found = self._door.ask(following.step)
            if following.is_over:
                return found

    def follow(self, operation: Named, timeout: Duration | None = None) -> Iterator[BulkOperation]:
        """Yield it as it is now, and whenever it is further, until it does not run any more.

        >>> for op in client.operations.follow(op):
        ...     print(op.progress.changed, op.goal)
        """
        following = FollowingOperation(operation, timeout)
        while not following.is_over:
            yield self._door.ask(following.step)
