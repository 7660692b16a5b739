-- A session that still holds jobs is kept until recovery has taken them.
DELETE FROM workers
WHERE id IN (
    SELECT old.id
    FROM workers AS old
    WHERE
        old.ended_at <= :ended_before
        AND NOT EXISTS (
            SELECT 1 FROM jobs
            WHERE jobs.worker_id = old.id AND jobs.state IN ('running', 'cancelling')
        )
    ORDER BY old.ended_at
    LIMIT :batch_size
);
