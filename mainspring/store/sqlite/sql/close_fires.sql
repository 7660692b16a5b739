-- Jobs that end now: their rows say how. Before the jobs leave the live table.
UPDATE fires
SET job_state = :state, job_ended_at = :now
WHERE
    (schedule_id, nominal_at, job_id) IN (
        SELECT jobs.schedule_id, jobs.nominal_at, jobs.id
        FROM json_each(:positions) AS given
        CROSS JOIN jobs
        WHERE
            jobs.id = substr(:ids, given.key * 16 + 1, 16)
            AND jobs.schedule_id IS NOT NULL
    )
    AND outcome IN ('job', 'backfilled');
