-- First close the sessions that ran out: a beat that comes later finds its session lost. Then
-- look for what they hold, and for attempts of living sessions past their own deadline.
WITH lost AS (
    UPDATE mainspring.workers
    SET state = 'lost', ended_at = coalesce(:at::timestamptz, statement_timestamp())
    WHERE
        state IN ('alive', 'draining')
        AND lease_until < coalesce(:at::timestamptz, statement_timestamp())
    RETURNING id, lease_until
),

ended AS (
    SELECT id, lease_until AS since FROM lost
    UNION ALL
    SELECT id, least(lease_until, ended_at) FROM mainspring.workers
    WHERE state IN ('lost', 'gone')
),

late AS (
    SELECT job.id, job.attempt, ended.since, 'session' AS cause
    FROM ended
    CROSS JOIN LATERAL (
        SELECT held.id, held.attempt
        FROM mainspring.jobs AS held
        WHERE held.worker_id = ended.id AND held.state IN ('running', 'cancelling')
        ORDER BY held.deadline_at
        LIMIT :job_limit::integer
    ) AS job
    UNION ALL
    SELECT job.id, job.attempt, job.deadline_at, 'deadline'
    FROM mainspring.workers AS living
    CROSS JOIN LATERAL (
        SELECT held.id, held.attempt, held.deadline_at
        FROM mainspring.jobs AS held
        WHERE
            held.worker_id = living.id
            AND held.state IN ('running', 'cancelling')
            AND held.deadline_at < coalesce(:at::timestamptz, statement_timestamp())
        ORDER BY held.deadline_at
        LIMIT :job_limit::integer
    ) AS job
    WHERE
        living.state IN ('alive', 'draining')
        AND living.lease_until >= coalesce(:at::timestamptz, statement_timestamp())
    ORDER BY since, id
    LIMIT :job_limit::integer
)

SELECT
    job.id, job.attempt, job.kind, job.tenant, job.queue, job.state, job.tries, job.crashes,
    job.max_attempts, job.max_crashes, job.backoff, job.timeout_ms, job.on_exhausted,
    convert_to(job.payload, 'UTF8') AS payload, job.payload_ref, late.cause,
    job.schedule_id
FROM late
INNER JOIN mainspring.jobs AS job ON late.id = job.id AND late.attempt = job.attempt
ORDER BY late.since, late.id;
