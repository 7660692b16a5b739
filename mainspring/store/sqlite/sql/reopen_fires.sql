-- Jobs that came back: how they end is open again, and others may be exclusive meanwhile.
UPDATE fires
SET job_state = NULL, job_ended_at = NULL, alone = 0
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
