-- Newest first, with counts of their rows as they are now.
SELECT
    backfill.id, backfill.schedule_id, backfill.from_at, backfill.until_at, backfill.direction,
    backfill.concurrency, backfill.state, backfill.created_at, backfill.created_by, backfill.fires,
    tally.waiting, tally.live, tally.succeeded
FROM mainspring.backfills AS backfill
CROSS JOIN LATERAL (
    SELECT
        count(*) FILTER (WHERE fire.job_id IS null) AS waiting,
        count(*) FILTER (WHERE fire.job_id IS NOT null AND fire.job_state IS null) AS live,
        count(*) FILTER (WHERE fire.job_state = 'succeeded') AS succeeded
    FROM mainspring.fires AS fire
    WHERE fire.backfill_id = backfill.id
) AS tally
WHERE backfill.schedule_id = :schedule_id::uuid
ORDER BY backfill.created_at DESC, backfill.id DESC;
