"""Who is told of what: endpoints of webhooks against what became of a job or a schedule."""

from collections.abc import Iterable
from typing import NamedTuple

from mainspring.domain.webhooks import Event, Listener, Wanted


class Subject(NamedTuple):
    """What a notification is about, as far as filters look at it."""

    tenant: str
    kind: str
    queue: str
    job_id: bytes | None = None
    schedule_id: bytes | None = None


def is_meant(wanted: Wanted, subject: Subject) -> bool:
    """Say whether the filters of an endpoint let a subject through."""
    return (
        (wanted.job_id is None or wanted.job_id == subject.job_id)
        and (wanted.schedule_id is None or wanted.schedule_id == subject.schedule_id)
        and (not wanted.kinds or subject.kind in wanted.kinds)
        and (not wanted.queues or subject.queue in wanted.queues)
    )


class Listeners:
    """Active endpoints, found by what they listen to.

    Those of one job lie apart, by its id: there may be many of them, and a settlement looks at
    none but its own.
    """

    __slots__ = ("_by_event", "_by_job")

    def __init__(self, listeners: Iterable[Listener] = ()) -> None:
        """Sort them in."""
        self._by_event: dict[tuple[str, Event], list[Listener]] = {}
        self._by_job: dict[tuple[bytes, Event], list[Listener]] = {}
        for listener in listeners:
            job_id = listener.wanted.job_id
            for event in dict.fromkeys(listener.wanted.events):
                if job_id is None:
                    self._by_event.setdefault((listener.tenant, event), []).append(listener)
                else:
                    self._by_job.setdefault((job_id, event), []).append(listener)

    def __bool__(self) -> bool:
        """Say whether anybody listens to anything."""
        return bool(self._by_event or self._by_job)

    def of(self, event: Event, subject: Subject) -> list[Listener]:
        """Return those who are to be told."""
        found = self._by_event.get((subject.tenant, event), ())
        if subject.job_id is not None and self._by_job:
            own = self._by_job.get((subject.job_id, event), ())
            found = [*found, *(each for each in own if each.tenant == subject.tenant)]
        return [each for each in found if is_meant(each.wanted, subject)]

    def have(self, tenant: str, event: Event) -> bool:
        """Say whether anybody of a tenant listens to an event, other than of one job."""
        return (tenant, event) in self._by_event


NOBODY = Listeners()
