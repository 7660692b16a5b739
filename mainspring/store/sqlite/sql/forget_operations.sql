-- Ended ones without members, and previews that nobody confirmed.
DELETE FROM operations
WHERE id IN (
    SELECT old.id
    FROM operations AS old
    WHERE
        (old.state = 'previewed' AND old.step_at < :previewed_before)
        OR (
            old.ended_at < :ended_before
            AND NOT EXISTS (
                SELECT 1 FROM operation_jobs
                WHERE operation_jobs.operation_id = old.id
            )
        )
    LIMIT :batch_size
);
