-- One page of final jobs of one state that is rare: found by its own index.
SELECT
    id, kind, tenant, queue, priority, state, due_at, created_at, attempt, tries, crashes,
    max_attempts, max_crashes, timeout_ms, payload, payload_ref, backoff, reason,
    NULL AS blocked_reason, worker_id, started_at, NULL AS deadline_at, finished_at, result,
    result_ref, error, error_group, effect_key, submission_key, unique_key, NULL AS unique_while,
    on_exhausted, replays, progress_done, progress_total, progress_note, schedule_id, nominal_at
FROM jobs_history
WHERE
    state <> 'succeeded'
    AND state = :state
    AND id < :before_id
    AND id >= :id_from
    AND (:kinds IS NULL OR kind IN (SELECT wanted.value FROM json_each(:kinds) AS wanted))
    AND (:queues IS NULL OR queue IN (SELECT wanted.value FROM json_each(:queues) AS wanted))
    AND (:tenant IS NULL OR tenant = :tenant)
    AND (
        :error_groups IS NULL
        OR error_group IN (SELECT wanted.value FROM json_each(:error_groups) AS wanted)
    )
    AND (:created_after IS NULL OR created_at >= :created_after)
    AND (:created_before IS NULL OR created_at < :created_before)
    AND (:finished_after IS NULL OR finished_at >= :finished_after)
    AND (:finished_before IS NULL OR finished_at < :finished_before)
ORDER BY id DESC
LIMIT :page_size;
