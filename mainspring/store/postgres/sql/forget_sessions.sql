-- A session that still holds jobs is kept until recovery has taken them.
DELETE FROM mainspring.workers
WHERE id IN (
    SELECT stale.id
    FROM mainspring.workers AS stale
    WHERE
        stale.ended_at < coalesce(:at::timestamptz, statement_timestamp()) - interval '1 hour'
        AND NOT EXISTS (
            SELECT FROM mainspring.jobs AS job
            WHERE job.worker_id = stale.id AND job.state IN ('running', 'cancelling')
        )
    ORDER BY stale.ended_at
    LIMIT :row_limit::integer
)
RETURNING id;
