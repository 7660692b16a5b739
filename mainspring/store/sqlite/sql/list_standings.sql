-- What judges are told, in the order given.
SELECT
    schedules.id,
    schedules.tenant,
    schedules.name,
    schedules.state,
    schedules.version,
    schedules.spec,
    schedules.calendars,
    schedules.cursor,
    schedules.zones,
    schedules.waiting,
    schedules.paused_until,
    jobs.id AS live_id,
    jobs.state AS live_state,
    jobs.due_at AS live_due_at,
    CASE
        WHEN schedules.waiting = 1 THEN (
            SELECT freed.job_ended_at
            FROM fires AS freed
            WHERE
                freed.schedule_id = schedules.id
                AND freed.job_ended_at IS NOT NULL
                AND freed.alone = 1
            ORDER BY freed.job_ended_at DESC
            LIMIT 1
        )
    END AS freed_at,
    CASE
        WHEN schedules.pause_after IS NULL THEN 0
        ELSE (
            SELECT count(*)
            FROM fires AS failed
            WHERE
                failed.schedule_id = schedules.id
                AND failed.job_ended_at > schedules.watched_from
                AND failed.job_state = 'dead'
                AND failed.job_ended_at > coalesce(
                    (
                        SELECT other.job_ended_at
                        FROM fires AS other
                        WHERE
                            other.schedule_id = schedules.id
                            AND other.job_ended_at IS NOT NULL
                            AND other.job_state <> 'dead'
                        ORDER BY other.job_ended_at DESC
                        LIMIT 1
                    ),
                    failed.job_ended_at - 1
                )
        )
    END AS failures
FROM json_each(:positions) AS given
CROSS JOIN schedules
LEFT JOIN jobs ON schedules.id = jobs.schedule_id AND jobs.alone = 1
WHERE schedules.id = substr(:ids, given.key * 16 + 1, 16)
ORDER BY given.key;
