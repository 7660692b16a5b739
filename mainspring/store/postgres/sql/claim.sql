-- Lanes are closed (paused queue, session that is not alive) before anything is looked at in
-- them. Priorities are tried one after the other, in the order of the VALUES list: the nested
-- loop asks for the next one only while the lane wants more, so nothing is held beyond the limit.
WITH lane AS MATERIALIZED (
    SELECT given.*
    FROM unnest(
        :queues::text[], :wants::integer[], :since_critical::timestamptz[],
        :since_high::timestamptz[], :since_normal::timestamptz[], :since_low::timestamptz[]
    ) WITH ORDINALITY AS given (
        queue, want, since_critical, since_high, since_normal, since_low, position
    )
    WHERE
        NOT EXISTS (
            SELECT FROM mainspring.queues AS held
            WHERE held.name = given.queue AND held.paused_at IS NOT null
        )
        AND EXISTS (
            SELECT FROM mainspring.workers AS holder
            WHERE
                holder.id = :worker_id::uuid
                AND holder.state = 'alive'
                AND holder.lease_until >= coalesce(:at::timestamptz, statement_timestamp())
                AND (:tenant::text IS null OR holder.tenant = :tenant::text)
        )
    ORDER BY given.position
),

candidates AS MATERIALIZED (
    SELECT chosen.id
    FROM lane
    CROSS JOIN LATERAL (
        SELECT due.id
        FROM (
            VALUES
            (0::smallint, lane.since_critical), (1::smallint, lane.since_high),
            (2::smallint, lane.since_normal), (3::smallint, lane.since_low)
        ) AS level (priority, since)
        CROSS JOIN LATERAL (
            SELECT waiting.id
            FROM mainspring.jobs AS waiting
            WHERE
                waiting.queue = lane.queue
                AND waiting.priority = level.priority
                AND waiting.state IN ('scheduled', 'ready', 'retrying')
                AND waiting.due_at >= coalesce(level.since, '-infinity')
                AND waiting.due_at <= coalesce(:at::timestamptz, statement_timestamp())
                AND waiting.kind = any(:kinds::text[])
                AND (:tenant::text IS null OR waiting.tenant = :tenant::text)
            ORDER BY waiting.due_at, waiting.id
            LIMIT lane.want
            FOR NO KEY UPDATE SKIP LOCKED
        ) AS due
        LIMIT lane.want
    ) AS chosen
    LIMIT :job_limit::integer
)

UPDATE mainspring.jobs AS job
SET
    state = 'running',
    attempt = job.attempt + 1,
    tries = job.tries + 1,
    crashes = job.crashes + 1,
    worker_id = :worker_id::uuid,
    child = :child::smallint,
    started_at = coalesce(:at::timestamptz, statement_timestamp()),
    deadline_at = coalesce(:at::timestamptz, statement_timestamp())
    + (job.timeout_ms + :grace_ms::bigint) * interval '1 millisecond',
    reason = null,
    progress_done = null,
    progress_total = null,
    progress_note = null
FROM candidates
WHERE job.id = candidates.id
RETURNING
    job.id, job.attempt, job.kind, job.queue, job.tenant, job.priority,
    convert_to(job.payload, 'UTF8') AS payload, job.payload_ref, job.tries, job.crashes,
    job.max_attempts, job.max_crashes, job.backoff, job.timeout_ms, job.due_at, job.started_at,
    job.deadline_at, job.effect_key, job.on_exhausted, job.created_at, job.schedule_id,
    job.nominal_at;
