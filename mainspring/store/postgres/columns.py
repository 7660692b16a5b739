"""New jobs as the arrays that statements take."""

from collections.abc import Sequence
from datetime import datetime
from typing import Final

import msgspec

from mainspring.domain.job import NewJob
from mainspring.store.postgres.rows import folded, json_text, unless_empty


def columns(jobs: Sequence[NewJob], at: datetime | None) -> dict[str, object]:
    """Turn jobs into arrays, sending what they agree on only once."""
    column = dict(
        zip(
            NewJob.__struct_fields__,
            zip(*map(msgspec.structs.astuple, jobs), strict=True),
            strict=True,
        )
    )
    backoffs, backoff = folded(column["backoff"])
    values: dict[str, object] = {
        "at": at,
        "ids": column["id"],
        "payloads": column["payload"],
        "payload_refs": unless_empty(column["payload_ref"]),
        "due_ats": unless_empty(column["due_at"]),
        "backoffs": [None if each is None else json_text(each) for each in backoffs],
        "backoff": None if backoff is None else json_text(backoff),
        "effect_keys": unless_empty(column["effect_key"]),
        "submission_keys": unless_empty(column["submission_key"]),
        "unique_keys": unless_empty(column["unique_key"]),
        "schedule_ids": unless_empty(column["schedule_id"]),
        "nominal_ats": unless_empty(column["nominal_at"]),
        "alone_each": column["alone"] if any(column["alone"]) else (),
        "unique_whiles": (),
        "unique_while": None,
    }
    if values["unique_keys"]:
        values["unique_whiles"], values["unique_while"] = folded(column["unique_while"])
    for name, many, one in _FOLDED:
        values[many], values[one] = folded(column[name])
    return values


#: Fields that the jobs of one call mostly share: field, its array, its single value.
_FOLDED: Final = (
    ("kind", "kinds", "kind"),
    ("tenant", "tenants", "tenant"),
    ("queue", "queues", "queue"),
    ("priority", "priorities", "priority"),
    ("delay_ms", "delays_ms", "delay_ms"),
    ("max_attempts", "max_attempts_each", "max_attempts"),
    ("max_crashes", "max_crashes_each", "max_crashes"),
    ("timeout_ms", "timeouts_ms", "timeout_ms"),
    ("on_exhausted", "on_exhausted_each", "on_exhausted"),
)


def every_column(jobs: Sequence[NewJob]) -> dict[str, object]:
    """Turn jobs into arrays of full length, for statements that expect no single values."""
    values: dict[str, object] = {
        "payloads": [job.payload for job in jobs],
        "payload_refs": [job.payload_ref for job in jobs],
        "due_ats": [job.due_at for job in jobs],
        "backoffs": [None if job.backoff is None else json_text(job.backoff) for job in jobs],
        "effect_keys": [job.effect_key for job in jobs],
    }
    for name, many, _ in _FOLDED:
        values[many] = [getattr(job, name) for job in jobs]
    return values
