-- Every effective state, history included.
SELECT counted.state, sum(counted.jobs) AS jobs
FROM (
    SELECT
        CASE
            WHEN state IN ('scheduled', 'retrying') AND due_at <= :now THEN 'ready'
            ELSE state
        END AS state,
        1 AS jobs
    FROM jobs
    WHERE :tenant IS NULL OR tenant = :tenant
    UNION ALL
    SELECT state, count(*) AS jobs
    FROM jobs_history
    WHERE :tenant IS NULL OR tenant = :tenant
    GROUP BY state
) AS counted
GROUP BY counted.state;
