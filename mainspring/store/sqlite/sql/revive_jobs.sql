-- Tries and crashes begin at 0 again, the attempt number goes on.
INSERT INTO jobs (
    id, tenant, queue, kind, priority, state, due_at, attempt, max_attempts, max_crashes,
    timeout_ms, dag_run_id, schedule_id, nominal_at, payload, payload_ref, backoff, on_exhausted,
    effect_key, submission_key, error, error_group, replays, created_at
)
SELECT
    jobs_history.id,
    jobs_history.tenant,
    jobs_history.queue,
    jobs_history.kind,
    jobs_history.priority,
    'ready',
    :now,
    jobs_history.attempt,
    jobs_history.max_attempts,
    jobs_history.max_crashes,
    jobs_history.timeout_ms,
    jobs_history.dag_run_id,
    jobs_history.schedule_id,
    jobs_history.nominal_at,
    coalesce(:payload, jobs_history.payload),
    CASE WHEN :payload IS NULL THEN jobs_history.payload_ref END,
    jobs_history.backoff,
    jobs_history.on_exhausted,
    jobs_history.effect_key,
    jobs_history.submission_key,
    jobs_history.error,
    jobs_history.error_group,
    jobs_history.replays + 1,
    jobs_history.created_at
FROM json_each(:positions) AS given
CROSS JOIN jobs_history
WHERE jobs_history.id = substr(:ids, given.key * 16 + 1, 16);
