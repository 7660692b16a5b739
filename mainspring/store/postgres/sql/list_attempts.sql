-- Closed ones, then the last one: inside the final row, or open in the live row. Attempts whose
-- job is gone (retention) are gone with it, wherever their rows still lie.
WITH job AS (
    SELECT id, attempt, 'running' AS attempt_state, worker_id, started_at, null::timestamptz
        AS ended_at, null::text AS reason, null::text AS error
    FROM mainspring.jobs
    WHERE id = :id::uuid
    UNION ALL
    SELECT id, attempt, attempt_state, worker_id, started_at, finished_at, reason, error
    FROM mainspring.jobs_history
    WHERE id = :id::uuid
)

SELECT
    closed.job_id, closed.attempt, closed.state, closed.worker_id, closed.started_at,
    closed.ended_at, closed.reason, closed.error
FROM mainspring.attempts AS closed
WHERE closed.job_id = :id::uuid AND EXISTS (SELECT FROM job)
UNION ALL
SELECT id, attempt, attempt_state, worker_id, started_at, ended_at, reason, error
FROM job
WHERE worker_id IS NOT null AND attempt_state IS NOT null
ORDER BY attempt, ended_at;
