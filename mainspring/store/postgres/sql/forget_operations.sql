-- Ended ones without members, and previews that nobody confirmed.
DELETE FROM mainspring.operations
WHERE id IN (
    SELECT stale.id
    FROM mainspring.operations AS stale
    WHERE
        (stale.state = 'previewed' AND stale.step_at < :previewed_before::timestamptz)
        OR (
            stale.ended_at < :before::timestamptz
            AND NOT EXISTS (
                SELECT FROM mainspring.operation_jobs AS member
                WHERE member.operation_id = stale.id
            )
        )
    LIMIT :row_limit::integer
    FOR UPDATE SKIP LOCKED
)
RETURNING id;
