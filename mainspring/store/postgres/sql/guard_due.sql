-- Schedules that are worth a look, held until the end of the transaction; what somebody else holds
-- is left to them. Those whose waiting is over come first: they were due before the others.
WITH freed AS MATERIALIZED (
    SELECT schedule.*
    FROM mainspring.schedules AS schedule
    WHERE
        schedule.waiting
        AND schedule.state = 'active'
        AND schedule.zones <= :zones::integer
        AND NOT EXISTS (
            SELECT FROM mainspring.jobs AS job
            WHERE job.schedule_id = schedule.id AND job.alone
        )
    ORDER BY schedule.id
    LIMIT :row_limit::integer
    FOR NO KEY UPDATE SKIP LOCKED
),

due AS MATERIALIZED (
    SELECT schedule.*
    FROM mainspring.schedules AS schedule
    WHERE
        schedule.look_at <= coalesce(:at::timestamptz, statement_timestamp())
        AND schedule.zones <= :zones::integer
        AND NOT (
            schedule.waiting
            AND schedule.state = 'active'
            AND NOT EXISTS (
                SELECT FROM mainspring.jobs AS job
                WHERE job.schedule_id = schedule.id AND job.alone
            )
        )
    ORDER BY schedule.look_at
    LIMIT greatest(:row_limit::integer - (SELECT count(*) FROM freed), 0)
    FOR NO KEY UPDATE SKIP LOCKED
)

SELECT
    chosen.id, chosen.tenant, chosen.name, chosen.state, chosen.version, chosen.spec,
    chosen.cursor, chosen.zones, chosen.calendars, chosen.waiting, chosen.paused_until,
    chosen.watched_from, chosen.pause_after
FROM (
    SELECT freed.*, true AS has_waited
    FROM freed
    UNION ALL
    SELECT due.*, false AS has_waited
    FROM due
) AS chosen
ORDER BY chosen.has_waited DESC, chosen.look_at, chosen.id;
