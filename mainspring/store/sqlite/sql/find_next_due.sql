-- The earliest due instant of waiting jobs: the head of each queue and priority, by the index.
SELECT
    min(
        (
            SELECT jobs.due_at
            FROM jobs
            WHERE
                jobs.queue = asked.value
                AND jobs.priority = level.value
                AND jobs.state IN ('scheduled', 'ready', 'retrying')
                AND jobs.kind IN (SELECT declared.value FROM json_each(:kinds) AS declared)
                AND (:tenant IS NULL OR jobs.tenant = :tenant)
            ORDER BY jobs.due_at, jobs.id
            LIMIT 1
        )
    )
FROM json_each(:queues) AS asked
CROSS JOIN json_each('[0,1,2,3]') AS level
WHERE NOT EXISTS (
    SELECT 1 FROM queues
    WHERE queues.name = asked.value AND queues.paused_at IS NOT NULL
);
