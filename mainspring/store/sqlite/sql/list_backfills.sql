SELECT
    id,
    schedule_id,
    from_at,
    until_at,
    fire_order,
    concurrency,
    state,
    created_at,
    created_by,
    fire_count,
    (
        SELECT count(*) FROM fires
        WHERE
            fires.backfill_id = backfills.id
            AND fires.outcome = 'backfilled'
            AND fires.job_id IS NULL
    ) AS waiting,
    (
        SELECT count(*) FROM fires
        WHERE
            fires.backfill_id = backfills.id
            AND fires.job_id IS NOT NULL
            AND fires.job_state IS NULL
    ) AS live,
    (
        SELECT count(*) FROM fires
        WHERE
            fires.backfill_id = backfills.id
            AND fires.job_id IS NOT NULL
            AND fires.job_state = 'succeeded'
    ) AS succeeded
FROM backfills
WHERE schedule_id = :id
ORDER BY created_at DESC, id DESC;
