"""What happened to jobs, as it is told to those who watch."""

from datetime import datetime

import msgspec

from mainspring.domain.states import JobState


class Change(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """A job that came, was begun, is to be tried again, or has ended."""

    at: datetime
    job_id: bytes
    attempt: int
    #: The state that it has now, which may be a later one than the one it changed to.
    state: JobState
    tenant: str
    kind: str
    queue: str


class Changes(msgspec.Struct, frozen=True):
    """Changes in order of time."""

    items: tuple[Change, ...]
    #: Every change before this instant has been told: ask from here on the next time.
    through: datetime
    #: There were more than was asked for: whoever watches had better look at everything anew.
    is_cut: bool = False
