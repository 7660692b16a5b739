-- What a worker, or one child of it, holds.
SELECT
    json_group_array(
        json_array(
            hex(id), attempt, kind, tenant, queue, state, tries, crashes, max_attempts,
            max_crashes, backoff, timeout_ms, on_exhausted, payload, payload_ref, hex(schedule_id),
            is_overtime
        )
    )
FROM (
    SELECT
        jobs.id, jobs.attempt, jobs.kind, jobs.tenant, jobs.queue, jobs.state, jobs.tries,
        jobs.crashes, jobs.max_attempts, jobs.max_crashes, jobs.backoff, jobs.timeout_ms,
        jobs.on_exhausted, jobs.payload, jobs.payload_ref, jobs.schedule_id,
        jobs.started_at + jobs.timeout_ms * 1000 <= :now AS is_overtime
    FROM jobs
    WHERE
        jobs.worker_id = :worker_id
        AND jobs.state IN ('running', 'cancelling')
        AND (:child IS NULL OR jobs.child = :child)
    ORDER BY jobs.started_at, jobs.id
    LIMIT :job_limit
);
