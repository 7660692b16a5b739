-- Active backfills that have something to do, oldest first, held until the end of the transaction:
-- a job to release, nothing left to wait for, or a schedule that was removed.
SELECT backfill.id
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
ORDER BY backfill.created_at, backfill.id
LIMIT :row_limit::integer
FOR NO KEY UPDATE OF backfill SKIP LOCKED;
