-- Fires whose jobs wait for a time to come, and were never begun.
SELECT fires.nominal_at, fires.sequence, fires.job_id
FROM fires
CROSS JOIN jobs
WHERE
    fires.schedule_id = :id
    AND fires.outcome = 'job'
    AND fires.job_state IS NULL
    AND fires.due_at > :now
    AND fires.cause IN ('schedule', 'dst_gap')
    AND jobs.id = fires.job_id
    AND jobs.attempt = 0
    AND jobs.worker_id IS NULL
    AND jobs.due_at > :now
ORDER BY fires.nominal_at, fires.sequence;
