"""Unique keys: at most one job holds one, and who comes second meets it.

There is one writer, so what is looked up is still true when it is written; the index is a guard.
"""

from collections.abc import Sequence
from typing import Final, NamedTuple

import msgspec

from mainspring.domain.job import NewJob, Receipt
from mainspring.store.sqlite.instants import due_us
from mainspring.store.sqlite.packing import as_json
from mainspring.store.sqlite.records import backoff_text
from mainspring.store.sqlite.unit import ask, ask_entries
from mainspring.store.statements import Steps

_found: Final = msgspec.json.Decoder(list[tuple[int, str, bool, str | None]])
_Key = tuple[str, str | None, str]


class _Holder(NamedTuple):
    """A job that holds a unique key."""

    id: bytes
    #: Nobody has begun it, so it may be replaced.
    waits: bool
    payload_ref: str | None


class Keys:
    """The unique keys of some submissions, while these are taken in one after the other."""

    def __init__(self, holders: dict[_Key, _Holder]) -> None:
        self._holders = holders
        self._taken: list[NewJob] = []
        self._replacing: dict[bytes, NewJob] = {}

    def meet(self, job: NewJob) -> Receipt | None:
        """Return the answer to a job whose key is held; ``None`` when it goes in."""
        if job.unique_key is None:
            return None
        holder = self._holders.get(_key(job))
        if holder is None:
            self._holders[_key(job)] = _Holder(job.id, True, job.payload_ref)
            self._taken.append(job)
            return None
        if job.on_duplicate != "replace" or not holder.waits:
            return Receipt(holder.id, created=False, duplicate=job.on_duplicate == "reject")
        self._replacing[holder.id] = job
        self._holders[_key(job)] = holder._replace(payload_ref=job.payload_ref)
        return Receipt(holder.id, created=False, replaced=True, unused_ref=holder.payload_ref)

    def write(self, now_us: int) -> Steps[None]:
        """Write down who holds which key now, and what was replaced; after the jobs are in."""
        if self._taken:
            entries = [(job.unique_key, job.unique_while) for job in self._taken]
            yield ask_entries("hold_keys", [job.id for job in self._taken], entries)
        if self._replacing:
            jobs = self._replacing.values()
            yield ask_entries(
                "replace_waiting",
                list(self._replacing),
                [_replacement(job) for job in jobs],
                dues=b"".join(b"%020d" % due_us(job, now_us) for job in jobs),
                now=now_us,
            )


def find_holders(jobs: Sequence[NewJob]) -> Steps[Keys]:
    """Look up who holds the unique keys of these jobs now."""
    names = [_key(job) for job in jobs if job.unique_key is not None]
    if not names:
        return Keys({})
    rows = yield ask("find_holders", {"entries": as_json(names)})
    return Keys(
        {
            names[position]: _Holder(bytes.fromhex(job_id), waits, reference)
            for position, job_id, waits, reference in _found.decode(rows[0][0])
        }
    )


def _replacement(job: NewJob) -> tuple[object, ...]:
    return (
        job.kind,
        job.queue,
        int(job.priority),
        job.max_attempts,
        job.max_crashes,
        job.timeout_ms,
        backoff_text(job.backoff),
        job.on_exhausted,
        job.payload.decode(),
        job.payload_ref,
        job.effect_key,
    )


def _key(job: NewJob) -> _Key:
    return job.tenant, job.unique_key, job.unique_while
