-- One page of live jobs; :states are effective ones, as people see them.
SELECT
    id, kind, tenant, queue, priority, state, due_at, created_at, attempt, tries, crashes,
    max_attempts, max_crashes, timeout_ms, payload, payload_ref, backoff, reason, blocked_reason,
    worker_id, started_at, deadline_at, NULL AS finished_at, NULL AS result, NULL AS result_ref,
    error, error_group, effect_key, submission_key, unique_key, unique_while, on_exhausted,
    replays, progress_done, progress_total, progress_note, schedule_id, nominal_at
FROM jobs
WHERE
    id < :before_id
    AND id >= :id_from
    AND (
        :states IS NULL
        OR CASE
            WHEN state IN ('scheduled', 'retrying') AND due_at <= :now THEN 'ready'
            ELSE state
        END IN (SELECT wanted.value FROM json_each(:states) AS wanted)
    )
    AND (:kinds IS NULL OR kind IN (SELECT wanted.value FROM json_each(:kinds) AS wanted))
    AND (:queues IS NULL OR queue IN (SELECT wanted.value FROM json_each(:queues) AS wanted))
    AND (:tenant IS NULL OR tenant = :tenant)
    AND (
        :error_groups IS NULL
        OR error_group IN (SELECT wanted.value FROM json_each(:error_groups) AS wanted)
    )
    AND (:created_after IS NULL OR created_at >= :created_after)
    AND (:created_before IS NULL OR created_at < :created_before)
ORDER BY id DESC
LIMIT :page_size;
