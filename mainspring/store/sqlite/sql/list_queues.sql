-- Every queue that has live jobs or a pause, counted by effective state.
SELECT
    counted.name,
    max(known.paused_at) AS paused_at,
    max(known.paused_reason) AS paused_reason,
    sum(counted.state = 'ready') AS ready,
    sum(counted.state = 'scheduled') AS scheduled,
    sum(counted.state = 'retrying') AS retrying,
    sum(counted.state IN ('running', 'cancelling')) AS running,
    min(CASE WHEN counted.state = 'ready' THEN counted.due_at END) AS oldest_ready_at
FROM (
    SELECT
        queue AS name,
        CASE
            WHEN state IN ('scheduled', 'retrying') AND due_at <= :now THEN 'ready'
            ELSE state
        END AS state,
        due_at
    FROM jobs
    WHERE :tenant IS NULL OR tenant = :tenant
    UNION ALL
    SELECT name, 'paused' AS state, NULL AS due_at
    FROM queues
    WHERE paused_at IS NOT NULL AND :tenant IS NULL
) AS counted
LEFT JOIN queues AS known ON counted.name = known.name
GROUP BY counted.name
ORDER BY counted.name;
