-- The oldest decisions, but neither a newest success nor what is still to come or live.
DELETE FROM fires
WHERE (schedule_id, nominal_at, sequence) IN (
    SELECT old.schedule_id, old.nominal_at, old.sequence
    FROM fires AS old
    WHERE
        old.decided_at < :decided_before
        AND NOT (old.outcome IN ('job', 'backfilled') AND old.job_state IS NULL)
        AND NOT (
            coalesce(old.job_state, '') = 'succeeded'
            AND old.nominal_at = (
                SELECT max(newer.nominal_at)
                FROM fires AS newer
                WHERE
                    newer.schedule_id = old.schedule_id
                    AND newer.job_state = 'succeeded'
            )
        )
    ORDER BY old.decided_at
    LIMIT :batch_size
);
