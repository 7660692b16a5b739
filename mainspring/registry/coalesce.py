"""Concurrent single submissions share one insert and one commit.

Whoever comes while nothing is under way leads: it sends its own jobs at once, alone. Those who
come meanwhile wait, and the first of them leads the next round with everybody's jobs. So a lone
caller pays no delay, and a crowd pays one commit.
"""

import asyncio
from collections import deque
from collections.abc import Sequence
from enum import Enum
from typing import Final

from mainspring.domain.errors import OutcomeUnknown
from mainspring.domain.job import NewJob, Receipt
from mainspring.domain.limits import SUBMIT_JOBS_MAX
from mainspring.ports.store import SubmissionStore


class _Turn(Enum):
    LEAD = "lead"


class _Entry:
    __slots__ = ("answer", "jobs")

    def __init__(self, jobs: Sequence[NewJob]) -> None:
        self.jobs: Final = jobs
        self.answer: asyncio.Future[list[Receipt] | _Turn] = (
            asyncio.get_running_loop().create_future()
        )


class Coalescer:
    """Groups submissions of one process. Bound to one event loop."""

    def __init__(self, store: SubmissionStore) -> None:
        """Submit into this store."""
        self._store = store
        self._waiting: deque[_Entry] = deque()
        self._busy = False

    async def submit(self, jobs: Sequence[NewJob]) -> list[Receipt]:
        """Return the receipts after the commit that made these jobs durable."""
        entry = _Entry(jobs)
        self._waiting.append(entry)
        if self._busy:
            try:
                answer = await entry.answer
            except asyncio.CancelledError:
                self._leave(entry)
                raise
            if not isinstance(answer, _Turn):
                return answer
        return await self._lead(entry)

    async def _lead(self, own: _Entry) -> list[Receipt]:
        self._busy = True
        group = self._take()
        try:
            receipts = await self._store.submit([job for entry in group for job in entry.jobs])
        except BaseException as error:
            self._fail(group, own, error)
            raise
        finally:
            self._hand_over()
        place = 0
        mine: list[Receipt] = []
        for entry in group:
            part = receipts[place : place + len(entry.jobs)]
            place += len(entry.jobs)
            if entry is own:
                mine = part
            elif not entry.answer.done():
                entry.answer.set_result(part)
        return mine

    def _take(self) -> list[_Entry]:
        """Take from the front, the leader's own entry first, up to one statement's worth."""
        group = [self._waiting.popleft()]
        count = len(group[0].jobs)
        while self._waiting and count + len(self._waiting[0].jobs) <= SUBMIT_JOBS_MAX:
            entry = self._waiting.popleft()
            count += len(entry.jobs)
            group.append(entry)
        return group

    def _fail(self, group: list[_Entry], own: _Entry, error: BaseException) -> None:
        """Pass a failure on; followers of a leader that was cancelled do not know the outcome."""
        passed = error if isinstance(error, Exception) else OutcomeUnknown()
        for entry in group:
            if entry is not own and not entry.answer.done():
                entry.answer.set_exception(passed)

    def _hand_over(self) -> None:
        while self._waiting and self._waiting[0].answer.done():
            self._waiting.popleft()
        if self._waiting:
            self._waiting[0].answer.set_result(_Turn.LEAD)
        else:
            self._busy = False

    def _leave(self, entry: _Entry) -> None:
        """Withdraw a caller that was cancelled while it waited, passing on a turn it had."""
        if entry in self._waiting:
            had_turn = entry.answer.done() and not entry.answer.cancelled()
            self._waiting.remove(entry)
            if had_turn:
                self._hand_over()
