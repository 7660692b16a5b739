SELECT
    id, kind, tenant, queue, priority, state, due_at, created_at, attempt, tries, crashes,
    max_attempts, max_crashes, timeout_ms, payload, payload_ref, backoff, reason,
    NULL AS blocked_reason, worker_id, started_at, NULL AS deadline_at, finished_at, result,
    result_ref, error, error_group, effect_key, submission_key, unique_key, NULL AS unique_while,
    on_exhausted, replays, progress_done, progress_total, progress_note, schedule_id, nominal_at
FROM jobs_history
WHERE id = :id;
