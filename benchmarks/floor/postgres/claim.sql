WITH candidates AS MATERIALIZED (
    SELECT waiting.id
    FROM jobs AS waiting
    WHERE
        waiting.queue = 'default'
        AND waiting.state = 'ready'
        AND waiting.priority = 2
        AND waiting.due_at >= :since::timestamptz
        AND waiting.due_at <= statement_timestamp()
    ORDER BY waiting.due_at, waiting.id
    LIMIT :batch_size::integer
    FOR NO KEY UPDATE SKIP LOCKED
)

UPDATE jobs AS job
SET
    state = 'running',
    attempt = job.attempt + 1,
    lease_until = statement_timestamp() + interval '15 seconds'
FROM candidates
WHERE job.id = candidates.id
RETURNING job.id, job.attempt, job.kind, job.payload, job.due_at;
