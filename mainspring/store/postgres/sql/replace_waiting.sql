-- Jobs that nobody has begun take over what was submitted, and keep their id and their keys. Those
-- that were begun meanwhile stay as they are and are not returned. "state <> blocked" instead of a
-- list of states keeps the index of waiting jobs, and its dead entries, out of the plan.
WITH target AS MATERIALIZED (
    SELECT id, payload_ref
    FROM mainspring.jobs
    WHERE
        id = any(:holder_ids::uuid[])
        AND attempt = 0
        AND worker_id IS null
        AND state <> 'blocked'
    ORDER BY id
    FOR NO KEY UPDATE
),

given AS MATERIALIZED (
    SELECT
        *,
        coalesce(
            due_at,
            coalesce(:at::timestamptz, statement_timestamp())
            + coalesce(delay_ms, 0) * interval '1 millisecond'
        ) AS new_due_at
    FROM
        unnest(
            :holder_ids::uuid[], :payloads::bytea[], :payload_refs::text[],
            :due_ats::timestamptz[], :delays_ms::bigint[], :kinds::text[], :queues::text[],
            :priorities::smallint[], :max_attempts_each::smallint[],
            :max_crashes_each::smallint[], :timeouts_ms::integer[], :backoffs::text[],
            :on_exhausted_each::text[], :effect_keys::text[]
        ) AS asked (
            id, payload, payload_ref, due_at, delay_ms, kind, queue, priority, max_attempts,
            max_crashes, timeout_ms, backoff, on_exhausted, effect_key
        )
)

UPDATE mainspring.jobs AS job
SET
    due_at = given.new_due_at,
    state = CASE
        WHEN given.new_due_at <= coalesce(:at::timestamptz, statement_timestamp()) THEN 'ready'
        ELSE 'scheduled'
    END,
    timeout_ms = given.timeout_ms,
    priority = given.priority,
    max_attempts = given.max_attempts,
    max_crashes = given.max_crashes,
    queue = given.queue,
    kind = given.kind,
    payload = convert_from(given.payload, 'UTF8'),
    payload_ref = given.payload_ref,
    backoff = given.backoff,
    on_exhausted = given.on_exhausted,
    effect_key = given.effect_key
FROM target
INNER JOIN given ON target.id = given.id
WHERE job.id = target.id
RETURNING job.id, target.payload_ref;
