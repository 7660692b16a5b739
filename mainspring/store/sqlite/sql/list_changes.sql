-- What happened from an instant on: each branch begins at its own index.
SELECT
    found.at, found.id, found.attempt,
    CASE
        WHEN found.state IN ('scheduled', 'retrying') AND found.due_at <= :now THEN 'ready'
        ELSE found.state
    END AS state,
    found.tenant, found.kind, found.queue
FROM (
    SELECT finished_at AS at, id, attempt, state, due_at, tenant, kind, queue
    FROM jobs_history
    WHERE
        state IN ('succeeded', 'dead', 'cancelled', 'expired', 'skipped')
        AND finished_at >= :since
    UNION ALL
    SELECT started_at AS at, id, attempt, state, due_at, tenant, kind, queue
    FROM jobs
    WHERE state IN ('running', 'cancelling') AND started_at >= :since
    UNION ALL
    SELECT created_at AS at, id, attempt, state, due_at, tenant, kind, queue
    FROM jobs
    WHERE
        id >= :id_from
        AND created_at >= :since
        AND state NOT IN ('running', 'cancelling')
        AND attempt = 0
    UNION ALL
    SELECT
        closed.ended_at AS at, jobs.id, jobs.attempt, jobs.state, jobs.due_at, jobs.tenant,
        jobs.kind, jobs.queue
    FROM attempts AS closed
    CROSS JOIN jobs
    WHERE
        closed.ended_at >= :since
        AND jobs.id = closed.job_id
        AND jobs.attempt = closed.attempt
) AS found
ORDER BY found.at
LIMIT :page_size;
