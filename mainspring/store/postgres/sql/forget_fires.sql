-- Rows that were decided before an instant. The newest success of a schedule stays, so that its
-- next fire still knows of it; so do rows whose own job is live or still to come.
WITH old AS (
    SELECT fire.schedule_id, fire.nominal_at, fire.sequence
    FROM mainspring.fires AS fire
    WHERE
        fire.decided_at < :before::timestamptz
        AND (fire.outcome NOT IN ('job', 'backfilled') OR fire.job_state IS NOT null)
        AND (
            coalesce(fire.job_state, '') <> 'succeeded'
            OR EXISTS (
                SELECT FROM mainspring.fires AS newer
                WHERE
                    newer.schedule_id = fire.schedule_id
                    AND newer.job_state = 'succeeded'
                    AND newer.nominal_at > fire.nominal_at
            )
        )
    ORDER BY fire.decided_at
    LIMIT :row_limit::integer
    FOR UPDATE SKIP LOCKED
)

DELETE FROM mainspring.fires AS fire
USING old
WHERE
    fire.schedule_id = old.schedule_id
    AND fire.nominal_at = old.nominal_at
    AND fire.sequence = old.sequence
RETURNING fire.sequence;
