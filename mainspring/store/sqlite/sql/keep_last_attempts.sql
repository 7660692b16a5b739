-- The last attempt of a job that comes back is no longer its last.
INSERT INTO attempts (
    job_id, attempt, tenant, state, worker_id, child, started_at, ended_at, reason, error
)
SELECT
    jobs_history.id,
    jobs_history.attempt,
    jobs_history.tenant,
    jobs_history.attempt_state,
    jobs_history.worker_id,
    jobs_history.child,
    jobs_history.started_at,
    jobs_history.finished_at,
    jobs_history.reason,
    jobs_history.error
FROM json_each(:positions) AS given
CROSS JOIN jobs_history
WHERE
    jobs_history.id = substr(:ids, given.key * 16 + 1, 16)
    AND jobs_history.attempt_state IS NOT NULL;
