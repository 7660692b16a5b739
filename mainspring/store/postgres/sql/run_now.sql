WITH waiting AS MATERIALIZED (
    SELECT id, tenant, state, due_at
    FROM mainspring.jobs
    WHERE
        id = any(:ids::uuid[])
        AND state IN ('scheduled', 'retrying')
        AND due_at > coalesce(:at::timestamptz, statement_timestamp())
    ORDER BY id
    FOR NO KEY UPDATE
)

UPDATE mainspring.jobs AS job
SET state = 'ready', due_at = coalesce(:at::timestamptz, statement_timestamp())
FROM waiting
WHERE job.id = waiting.id
RETURNING job.id, job.tenant, waiting.state, waiting.due_at;
