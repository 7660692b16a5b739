-- Exact, so it reads every row's state: bounded by the timeout of the call, not by a sample.
SELECT live.state, count(*) AS jobs
FROM (
    SELECT
        CASE
            WHEN
                state IN ('scheduled', 'retrying')
                AND due_at <= coalesce(:at::timestamptz, statement_timestamp())
                THEN 'ready'
            ELSE state
        END AS state
    FROM mainspring.jobs
    WHERE :tenant::text IS null OR tenant = :tenant::text
    UNION ALL
    SELECT state FROM mainspring.jobs_history
    WHERE :tenant::text IS null OR tenant = :tenant::text
) AS live
GROUP BY live.state;
