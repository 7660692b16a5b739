-- Ended ones without members, and previews that nobody confirmed.
DELETE FROM mainspring.operations
WHERE id IN (
    SELECT old.id
    FROM mainspring.operations AS old
    WHERE
        (old.state = 'previewed' AND old.step_at < :previewed_before::timestamptz)
        OR (
            old.ended_at < :before::timestamptz
            AND NOT EXISTS (
                SELECT FROM mainspring.operation_jobs AS member
                WHERE member.operation_id = old.id
            )
        )
    LIMIT :row_limit::integer
    FOR UPDATE SKIP LOCKED
)
RETURNING id;
