-- The fires of jobs, each with the version that fired. :ids and :schedules 16 bytes a job each,
-- :entries [nominal, ...].
SELECT
    fires.job_id,
    fires.schedule_id,
    schedules.name,
    fires.nominal_at,
    fires.due_at,
    schedule_versions.spec,
    fires.cause,
    fires.sequence,
    fires.local_time,
    fires.missed,
    (
        SELECT max(earlier.nominal_at)
        FROM fires AS earlier
        WHERE
            earlier.schedule_id = fires.schedule_id
            AND earlier.job_state = 'succeeded'
            AND earlier.nominal_at < fires.nominal_at
    ) AS previous_success_at
FROM json_each(:entries) AS given
CROSS JOIN fires
CROSS JOIN schedules
CROSS JOIN schedule_versions
WHERE
    fires.schedule_id = substr(:schedules, given.key * 16 + 1, 16)
    AND fires.nominal_at = given.value
    AND fires.job_id = substr(:ids, given.key * 16 + 1, 16)
    AND fires.outcome IN ('job', 'backfilled')
    AND schedules.id = fires.schedule_id
    AND schedule_versions.schedule_id = fires.schedule_id
    AND schedule_versions.version = fires.version;
