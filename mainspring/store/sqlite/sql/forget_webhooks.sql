-- Endpoints of one job, which is gone. A job that is still to be submitted has its hour.
DELETE FROM webhooks
WHERE id IN (
    SELECT hook.id
    FROM webhooks AS hook
    WHERE
        hook.job_id IS NOT NULL
        AND hook.created_at < :made_before
        AND NOT EXISTS (SELECT 1 FROM jobs WHERE jobs.id = hook.job_id)
        AND NOT EXISTS (SELECT 1 FROM jobs_history WHERE jobs_history.id = hook.job_id)
    ORDER BY hook.id
    LIMIT :batch_size
);
