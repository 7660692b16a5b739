-- Rows enter history with their last attempt. :entries [[error, result, reference], ...].
INSERT INTO jobs_history (
    id, tenant, queue, kind, priority, state, due_at, attempt, tries, crashes, max_attempts,
    max_crashes, timeout_ms, worker_id, child, started_at, attempt_state, dag_run_id, schedule_id,
    nominal_at, payload, payload_ref, backoff, on_exhausted, effect_key, submission_key, reason,
    error, replays, progress_done, progress_total, progress_note, created_at, finished_at, result,
    result_ref
)
SELECT
    jobs.id,
    jobs.tenant,
    jobs.queue,
    jobs.kind,
    jobs.priority,
    :state,
    jobs.due_at,
    jobs.attempt,
    max(jobs.tries - :refund_try, 0),
    max(jobs.crashes - :refund_crash, 0),
    jobs.max_attempts,
    jobs.max_crashes,
    jobs.timeout_ms,
    jobs.worker_id,
    jobs.child,
    jobs.started_at,
    :attempt_state,
    jobs.dag_run_id,
    jobs.schedule_id,
    jobs.nominal_at,
    jobs.payload,
    jobs.payload_ref,
    jobs.backoff,
    jobs.on_exhausted,
    jobs.effect_key,
    jobs.submission_key,
    :reason,
    CASE WHEN :keep_error THEN jobs.error ELSE json_extract(given.value, '$[0]') END,
    jobs.replays,
    jobs.progress_done,
    jobs.progress_total,
    jobs.progress_note,
    jobs.created_at,
    :now,
    json_extract(given.value, '$[1]'),
    json_extract(given.value, '$[2]')
FROM json_each(:entries) AS given
CROSS JOIN jobs
WHERE jobs.id = substr(:ids, given.key * 16 + 1, 16);
