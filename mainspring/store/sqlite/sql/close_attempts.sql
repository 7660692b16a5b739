-- Attempts that end while their job goes on. :entries [[error, delay, group], ...].
INSERT INTO attempts (
    job_id, attempt, tenant, state, worker_id, child, started_at, ended_at, reason, error
)
SELECT
    jobs.id,
    jobs.attempt,
    jobs.tenant,
    :attempt_state,
    jobs.worker_id,
    jobs.child,
    jobs.started_at,
    :now,
    :reason,
    json_extract(given.value, '$[0]')
FROM json_each(:entries) AS given
CROSS JOIN jobs
WHERE jobs.id = substr(:ids, given.key * 16 + 1, 16);
