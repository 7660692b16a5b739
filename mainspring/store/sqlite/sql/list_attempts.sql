-- Closed ones, the last one of a final job, and the open one; in order.
SELECT
    attempt, state, worker_id, started_at, ended_at, reason, error
FROM attempts
WHERE job_id = :id
UNION ALL
SELECT
    attempt, attempt_state AS state, worker_id, started_at, finished_at AS ended_at, reason, error
FROM jobs_history
WHERE id = :id AND attempt_state IS NOT NULL
UNION ALL
SELECT
    attempt, 'running' AS state, worker_id, started_at, NULL AS ended_at, NULL AS reason,
    NULL AS error
FROM jobs
WHERE id = :id AND worker_id IS NOT NULL
ORDER BY 1;
