SELECT
    id,
    CASE
        WHEN
            state IN ('scheduled', 'retrying')
            AND due_at <= coalesce(:at::timestamptz, statement_timestamp())
            THEN 'ready'
        ELSE state
    END AS state
FROM mainspring.jobs
WHERE id = any(:ids::uuid[])
UNION ALL
SELECT id, state
FROM mainspring.jobs_history
WHERE
    id = any(:ids::uuid[])
    AND finished_at >= coalesce(:finished_after::timestamptz, '-infinity');
