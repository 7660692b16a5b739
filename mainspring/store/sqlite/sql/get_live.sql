SELECT
    id, kind, tenant, queue, priority, state, due_at, created_at, attempt, tries, crashes,
    max_attempts, max_crashes, timeout_ms, payload, payload_ref, backoff, reason, blocked_reason,
    worker_id, started_at, deadline_at, NULL AS finished_at, NULL AS result, NULL AS result_ref,
    error, error_group, effect_key, submission_key, unique_key, unique_while, on_exhausted,
    replays, progress_done, progress_total, progress_note, schedule_id, nominal_at
FROM jobs
WHERE id = :id;
