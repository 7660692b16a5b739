-- One statement, one snapshot: a job that moves between the tables meanwhile is never missed.
SELECT
    id, kind, tenant, queue, priority,
    CASE
        WHEN
            state IN ('scheduled', 'retrying')
            AND due_at <= coalesce(:at::timestamptz, statement_timestamp())
            THEN 'ready'
        ELSE state
    END AS state,
    due_at, created_at, attempt, tries, crashes, max_attempts, max_crashes, timeout_ms, payload,
    payload_ref, backoff, reason, blocked_reason, worker_id, started_at, deadline_at,
    null::timestamptz AS finished_at, null::text AS result, null::text AS result_ref, error,
    error_group, effect_key, submission_key, unique_key, unique_while, on_exhausted,
    schedule_id, nominal_at, replays, progress_done, progress_total, progress_note
FROM mainspring.jobs
WHERE id = :id::uuid
UNION ALL
SELECT
    id, kind, tenant, queue, priority, state, due_at, created_at, attempt, tries, crashes,
    max_attempts, max_crashes, timeout_ms, payload, payload_ref, backoff, reason,
    null AS blocked_reason, worker_id, started_at, null AS deadline_at, finished_at, result,
    result_ref, error, error_group, effect_key, submission_key, unique_key, null AS unique_while,
    on_exhausted, schedule_id, nominal_at, replays, progress_done, progress_total, progress_note
FROM mainspring.jobs_history
WHERE
    id = :id::uuid
    AND finished_at >= coalesce(:finished_after::timestamptz, '-infinity')
LIMIT 1;
