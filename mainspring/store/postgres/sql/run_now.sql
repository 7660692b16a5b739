UPDATE mainspring.jobs
SET state = 'ready', due_at = coalesce(:at::timestamptz, statement_timestamp())
WHERE
    id = any(:ids::uuid[])
    AND state IN ('scheduled', 'retrying')
    AND due_at > coalesce(:at::timestamptz, statement_timestamp())
RETURNING id;
