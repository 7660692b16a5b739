-- The fires that held backfills have room for now. A statement of its own, after the guard: one
-- that held the rows and counted at once would count what was live before somebody else's commit.
SELECT
    backfill.id,
    backfill.rate,
    backfill.released_at,
    coalesce(:at::timestamptz, statement_timestamp()) AS now,
    backfill.schedule_id,
    schedule.state = 'deleted' AS is_removed,
    greatest(backfill.concurrency - live.fires, 0) AS room,
    live.fires AS live,
    wanted.nominal_at,
    wanted.sequence
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
    (
        SELECT fire.nominal_at, fire.sequence
        FROM mainspring.fires AS fire
        WHERE
            backfill.direction = 'oldest'
            AND fire.backfill_id = backfill.id
            AND fire.job_id IS null
        ORDER BY fire.nominal_at, fire.sequence
        LIMIT least(greatest(backfill.concurrency - live.fires, 1), :row_limit::integer)
    )
    UNION ALL
    (
        SELECT fire.nominal_at, fire.sequence
        FROM mainspring.fires AS fire
        WHERE
            backfill.direction = 'newest'
            AND fire.backfill_id = backfill.id
            AND fire.job_id IS null
        ORDER BY fire.nominal_at DESC, fire.sequence DESC
        LIMIT least(greatest(backfill.concurrency - live.fires, 1), :row_limit::integer)
    )
) AS wanted ON true
WHERE backfill.id = any(:ids::uuid[])
ORDER BY
    backfill.created_at,
    backfill.id,
    CASE WHEN backfill.direction = 'oldest' THEN wanted.nominal_at END,
    CASE WHEN backfill.direction = 'oldest' THEN wanted.sequence END,
    wanted.nominal_at DESC,
    wanted.sequence DESC;
