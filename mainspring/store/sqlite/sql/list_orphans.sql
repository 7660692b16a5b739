-- Held attempts of sessions that are lost or gone.
SELECT
    json_group_array(
        json_array(
            hex(id), attempt, kind, tenant, queue, state, tries, crashes, max_attempts,
            max_crashes, backoff, timeout_ms, on_exhausted, payload, payload_ref, hex(schedule_id)
        )
    )
FROM (
    SELECT
        jobs.id, jobs.attempt, jobs.kind, jobs.tenant, jobs.queue, jobs.state, jobs.tries,
        jobs.crashes, jobs.max_attempts, jobs.max_crashes, jobs.backoff, jobs.timeout_ms,
        jobs.on_exhausted, jobs.payload, jobs.payload_ref, jobs.schedule_id
    FROM workers
    CROSS JOIN jobs
    WHERE
        workers.state IN ('lost', 'gone')
        AND jobs.worker_id = workers.id
        AND jobs.state IN ('running', 'cancelling')
    ORDER BY min(workers.lease_until, workers.ended_at), jobs.deadline_at, jobs.id
    LIMIT :job_limit
);
