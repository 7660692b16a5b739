-- Endpoints of one job, which is gone. A job that is still to be submitted has its hour.
DELETE FROM mainspring.webhooks
WHERE id IN (
    SELECT hook.id
    FROM mainspring.webhooks AS hook
    WHERE
        hook.job_id IS NOT null
        AND hook.created_at
        < coalesce(:at::timestamptz, statement_timestamp()) - interval '1 hour'
        AND NOT EXISTS (SELECT FROM mainspring.jobs AS job WHERE job.id = hook.job_id)
        AND NOT EXISTS (SELECT FROM mainspring.jobs_history AS job WHERE job.id = hook.job_id)
    ORDER BY hook.id
    LIMIT :row_limit::integer
)
RETURNING id;
