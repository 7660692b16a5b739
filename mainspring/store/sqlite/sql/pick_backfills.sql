-- Active ones that have something to do, the oldest first.
SELECT *
FROM (
    SELECT
        backfills.id,
        backfills.schedule_id,
        backfills.fire_order,
        backfills.concurrency,
        backfills.rate,
        backfills.released_at,
        schedules.state = 'deleted' AS is_removed,
        (
            SELECT 1 FROM fires
            WHERE
                fires.backfill_id = backfills.id
                AND fires.outcome = 'backfilled'
                AND fires.job_id IS NULL
            LIMIT 1
        ) IS NOT NULL AS has_more,
        (
            SELECT count(*) FROM fires
            WHERE
                fires.backfill_id = backfills.id
                AND fires.job_id IS NOT NULL
                AND fires.job_state IS NULL
        ) AS live
    FROM backfills
    CROSS JOIN schedules
    WHERE backfills.state = 'active' AND schedules.id = backfills.schedule_id
    ORDER BY backfills.created_at, backfills.id
)
WHERE is_removed OR CASE WHEN has_more THEN live < concurrency ELSE live = 0 END
LIMIT :batch_size;
