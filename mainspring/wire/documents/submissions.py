"""What ``POST /jobs`` takes and answers.

One body for the three things that people mean by posting a job: work to be done once, now or later;
work to be done on a schedule; and both in the words of other schedulers. Members that say the same
are listed together; of each list one may be given.
"""

from datetime import datetime

import msgspec

from mainspring.wire.documents.common import ObjectText, empty_object


class DefaultsBody(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What the submitter's own handler says where the submission says nothing."""

    queue: str | None = None
    priority: str | int | None = None
    max_attempts: int | None = None
    max_crashes: int | None = None
    timeout_ms: int | None = None
    on_exhausted: str | None = None


class SubmissionBody(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A job to be done once, or with ``cron_expression`` or a cron in ``schedule`` a schedule."""

    # What is to be done.
    kind: str | None = None
    job_type: str | None = None
    type: str | None = None
    payload: ObjectText = msgspec.field(default_factory=empty_object)
    # Whose it is; for keys of the whole installation.
    tenant: str | None = None
    tenant_id: str | None = None
    # Where it waits, and when it is due.
    queue: str | None = None
    priority: str | int | None = None
    #: From now on: ``30s``, ``1h30m``.
    delay: str | None = None
    delay_ms: int | None = None
    due_at: str | None = None
    run_at: str | None = None
    scheduled_at: str | None = None
    # How often it is tried, and for how long.
    max_attempts: int | None = None
    max_retries: int | None = None
    max_crashes: int | None = None
    backoff: dict[str, bool | int | float] | None = None
    #: ``exponential`` or ``fixed``.
    retry_backoff: str | None = None
    timeout: str | None = None
    timeout_ms: int | None = None
    timeout_seconds: int | None = None
    on_exhausted: str | None = None
    #: The submitter has the handler at hand: its kind need not have been declared by a worker,
    #: and its payload was validated.
    defaults: DefaultsBody | None = None
    # Its keys.
    #: The same key and body name the same job for a day; so does the header ``Idempotency-Key``.
    key: str | None = None
    idempotency_key: str | None = None
    effect_key: str | None = None
    #: Of a schedule: ``report-{{week}}``.
    idempotency_key_template: str | None = None
    unique_key: str | None = None
    unique_while: str = "live"
    on_duplicate: str = "existing"
    #: Chosen by the submitter: ``job_…``.
    id: str | None = None
    # A schedule.
    name: str | None = None
    job_name: str | None = None
    #: ``CRON`` or ``ONCE``.
    schedule_type: str | None = None
    cron_expression: str | None = None
    #: A cron expression, or an instant in ISO 8601.
    schedule: str | None = None
    timezone: str | None = None
    allow_overlap: bool | None = None
    overlap_policy: str | None = None
    misfire_policy: str | None = None
    missed_window: str | None = None


class BatchBody(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Jobs that are submitted together: all of them, or none."""

    jobs: list[SubmissionBody]


class AcceptedDocument(msgspec.Struct, frozen=True, kw_only=True):
    """A job that was taken in, or that was there already."""

    id: str
    #: False: a key named a job that was there already.
    created: bool
    #: That job waited, and has what was submitted now.
    replaced: bool = False


class SubmittedDocument(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What became of a submission: a job, or with ``sch_`` a schedule."""

    id: str
    #: The same, by the name that others give it.
    job_id: str
    created: bool
    replaced: bool = False
    #: Of what was given as a schedule: ``ACTIVE``.
    status: str | None = None
    #: In the zone that was given.
    next_scheduled_run: datetime | None = None
    #: In UTC.
    next_run_at: datetime | None = None


class AcceptedBatch(msgspec.Struct, frozen=True, kw_only=True):
    """What became of jobs that were submitted together, in their order."""

    items: list[AcceptedDocument]
