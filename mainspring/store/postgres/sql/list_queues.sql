WITH live AS (
    SELECT
        queue,
        due_at,
        CASE
            WHEN
                state IN ('scheduled', 'retrying')
                AND due_at <= coalesce(:at::timestamptz, statement_timestamp())
                THEN 'ready'
            ELSE state
        END AS state
    FROM mainspring.jobs
    WHERE :tenant::text IS null OR tenant = :tenant::text
),

counted AS (
    SELECT
        queue,
        count(*) FILTER (WHERE state = 'ready') AS ready,
        count(*) FILTER (WHERE state = 'scheduled') AS scheduled,
        count(*) FILTER (WHERE state = 'retrying') AS retrying,
        count(*) FILTER (WHERE state IN ('running', 'cancelling')) AS running,
        min(due_at) FILTER (WHERE state = 'ready') AS oldest_ready_at
    FROM live
    GROUP BY queue
),

paused AS (
    SELECT name, paused_at, paused_reason FROM mainspring.queues WHERE paused_at IS NOT null
)

SELECT
    coalesce(counted.queue, paused.name) AS name,
    paused.paused_at,
    paused.paused_reason,
    coalesce(counted.ready, 0) AS ready,
    coalesce(counted.scheduled, 0) AS scheduled,
    coalesce(counted.retrying, 0) AS retrying,
    coalesce(counted.running, 0) AS running,
    counted.oldest_ready_at
FROM counted
FULL JOIN paused ON counted.queue = paused.name
WHERE :tenant::text IS null OR counted.queue IS NOT null
ORDER BY name;
