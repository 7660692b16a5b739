SELECT
    id, attempt, kind, tenant, queue, state, tries, crashes, max_attempts, max_crashes, backoff,
    timeout_ms, on_exhausted, convert_to(payload, 'UTF8') AS payload, payload_ref,
    CASE
        WHEN
            started_at + timeout_ms * interval '1 millisecond'
            <= coalesce(:at::timestamptz, statement_timestamp())
            THEN 'overtime'
        ELSE 'child'
    END AS cause,
    schedule_id
FROM mainspring.jobs
WHERE
    worker_id = :worker_id::uuid
    AND state IN ('running', 'cancelling')
    AND (:child::smallint IS null OR child = :child::smallint)
ORDER BY id;
