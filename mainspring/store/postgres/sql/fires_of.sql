-- What handlers may know of their fires, in the words of the version that fired.
SELECT
    fire.job_id, fire.schedule_id, schedule.name, fire.nominal_at, fire.due_at, told.spec,
    fire.cause, fire.sequence, fire.wall_time, fire.missed,
    earlier.nominal_at AS previous_success_at
FROM unnest(:job_ids::uuid[], :schedule_ids::uuid[], :nominal_ats::timestamptz[])
    AS given (job_id, schedule_id, nominal_at)
INNER JOIN mainspring.fires AS fire
    ON
        given.schedule_id = fire.schedule_id
        AND given.nominal_at = fire.nominal_at
        AND given.job_id = fire.job_id
        AND fire.outcome IN ('job', 'backfilled')
INNER JOIN mainspring.schedules AS schedule ON fire.schedule_id = schedule.id
INNER JOIN mainspring.schedule_versions AS told
    ON fire.schedule_id = told.schedule_id AND fire.version = told.version
LEFT JOIN LATERAL (
    SELECT success.nominal_at
    FROM mainspring.fires AS success
    WHERE
        success.schedule_id = fire.schedule_id
        AND success.job_state = 'succeeded'
        AND success.nominal_at < fire.nominal_at
    ORDER BY success.nominal_at DESC
    LIMIT 1
) AS earlier ON true;
