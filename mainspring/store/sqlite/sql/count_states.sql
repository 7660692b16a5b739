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
    UNION ALL
    SELECT state, count(*) AS jobs
    FROM jobs_history
    GROUP BY state
) AS counted
GROUP BY counted.state;
