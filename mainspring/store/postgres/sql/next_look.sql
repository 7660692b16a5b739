-- Rounded up, so that a rest is never too short. Each branch reads the head of an index.
SELECT
    ceil(
        1000 * extract(
            EPOCH FROM
            min(greatest(head.look_at, coalesce(:at::timestamptz, statement_timestamp())))
            - coalesce(:at::timestamptz, statement_timestamp())
        )
    )::bigint AS wait_ms
FROM (
    (
        SELECT schedule.look_at
        FROM mainspring.schedules AS schedule
        WHERE schedule.look_at IS NOT null AND schedule.zones <= :zones::integer
        ORDER BY schedule.look_at
        LIMIT 1
    )
    UNION ALL
    (
        SELECT '-infinity'::timestamptz
        FROM mainspring.schedules AS schedule
        WHERE
            schedule.waiting
            AND schedule.state = 'active'
            AND schedule.zones <= :zones::integer
            AND NOT EXISTS (
                SELECT FROM mainspring.jobs AS job
                WHERE job.schedule_id = schedule.id AND job.alone
            )
        LIMIT 1
    )
    UNION ALL
    (
        SELECT '-infinity'::timestamptz
        FROM mainspring.backfills AS backfill
        INNER JOIN mainspring.schedules AS schedule ON backfill.schedule_id = schedule.id
        CROSS JOIN LATERAL (
            SELECT count(*) AS fires
            FROM mainspring.fires AS fire
            WHERE
                fire.backfill_id = backfill.id
                AND fire.job_id IS NOT null
                AND fire.job_state IS null
        ) AS live
        LEFT JOIN LATERAL (
            SELECT fire.sequence
            FROM mainspring.fires AS fire
            WHERE fire.backfill_id = backfill.id AND fire.job_id IS null
            LIMIT 1
        ) AS waiting ON true
        WHERE
            backfill.state = 'active'
            AND (
                schedule.state = 'deleted'
                OR (waiting.sequence IS NOT null AND live.fires < backfill.concurrency)
                OR (live.fires = 0 AND waiting.sequence IS null)
            )
        LIMIT 1
    )
) AS head (look_at);
