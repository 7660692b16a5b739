-- Newest first. Each side stops after one page; states are the ones that people see.
(
    SELECT
        id, kind, tenant, queue, priority, shown.state, due_at, created_at, attempt, tries,
        crashes, max_attempts, max_crashes, timeout_ms, payload, payload_ref, backoff, reason,
        blocked_reason, worker_id, started_at, deadline_at, null::timestamptz AS finished_at,
        null::text AS result, null::text AS result_ref, error, error_group, effect_key,
        submission_key, unique_key, unique_while, on_exhausted, schedule_id, nominal_at,
        replays, progress_done, progress_total, progress_note
    FROM mainspring.jobs
    CROSS JOIN LATERAL (
        SELECT
            CASE
                WHEN
                    jobs.state IN ('scheduled', 'retrying')
                    AND jobs.due_at <= coalesce(:at::timestamptz, statement_timestamp())
                    THEN 'ready'
                ELSE jobs.state
            END AS state
    ) AS shown
    WHERE
        :live::boolean
        AND (:before::uuid IS null OR id < :before::uuid)
        AND (:id_from::uuid IS null OR id >= :id_from::uuid)
        AND (:states::text[] IS null OR shown.state = any(:states::text[]))
        AND (:kinds::text[] IS null OR kind = any(:kinds::text[]))
        AND (:queues::text[] IS null OR queue = any(:queues::text[]))
        AND (:tenant::text IS null OR tenant = :tenant::text)
        AND (:error_groups::text[] IS null OR error_group = any(:error_groups::text[]))
        AND (:created_after::timestamptz IS null OR created_at >= :created_after::timestamptz)
        AND (:created_before::timestamptz IS null OR created_at < :created_before::timestamptz)
    ORDER BY id DESC
    LIMIT :row_limit::integer
)
UNION ALL
(
    SELECT
        id, kind, tenant, queue, priority, state, due_at, created_at, attempt, tries, crashes,
        max_attempts, max_crashes, timeout_ms, payload, payload_ref, backoff, reason,
        null AS blocked_reason, worker_id, started_at, null AS deadline_at, finished_at, result,
        result_ref, error, error_group, effect_key, submission_key, unique_key,
        null AS unique_while, on_exhausted, schedule_id, nominal_at, replays, progress_done,
        progress_total, progress_note
    FROM mainspring.jobs_history
    WHERE
        :final::boolean
        AND (:before::uuid IS null OR id < :before::uuid)
        AND (:id_from::uuid IS null OR id >= :id_from::uuid)
        AND (:states::text[] IS null OR state = any(:states::text[]))
        AND (:kinds::text[] IS null OR kind = any(:kinds::text[]))
        AND (:queues::text[] IS null OR queue = any(:queues::text[]))
        AND (:tenant::text IS null OR tenant = :tenant::text)
        AND (:error_groups::text[] IS null OR error_group = any(:error_groups::text[]))
        AND (:created_after::timestamptz IS null OR created_at >= :created_after::timestamptz)
        AND (:created_before::timestamptz IS null OR created_at < :created_before::timestamptz)
        AND (:finished_after::timestamptz IS null OR finished_at >= :finished_after::timestamptz)
        AND (:finished_before::timestamptz IS null OR finished_at < :finished_before::timestamptz)
    ORDER BY id DESC
    LIMIT :row_limit::integer
)
ORDER BY id DESC
LIMIT :row_limit::integer;
