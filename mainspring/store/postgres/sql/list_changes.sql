-- What happened from an instant on. Each branch begins at its own index: history and closed
-- attempts by time, held rows by their holders, new rows by their ids, which are made in order of
-- time.
SELECT
    found.at,
    found.id,
    found.attempt,
    CASE
        WHEN
            found.state IN ('scheduled', 'retrying')
            AND found.due_at <= coalesce(:at::timestamptz, statement_timestamp())
            THEN 'ready'
        ELSE found.state
    END AS state,
    found.tenant,
    found.kind,
    found.queue
FROM (
    (
        SELECT finished_at AS at, id, attempt, state, due_at, tenant, kind, queue
        FROM mainspring.jobs_history
        WHERE finished_at >= :since::timestamptz
        ORDER BY finished_at
        LIMIT :row_limit::integer
    )
    UNION ALL
    (
        SELECT started_at AS at, id, attempt, state, due_at, tenant, kind, queue
        FROM mainspring.jobs
        WHERE state IN ('running', 'cancelling') AND started_at >= :since::timestamptz
        ORDER BY started_at
        LIMIT :row_limit::integer
    )
    UNION ALL
    (
        SELECT created_at AS at, id, attempt, state, due_at, tenant, kind, queue
        FROM mainspring.jobs
        WHERE
            id >= :id_from::uuid
            AND created_at >= :since::timestamptz
            AND state NOT IN ('running', 'cancelling')
            AND attempt = 0
        ORDER BY created_at
        LIMIT :row_limit::integer
    )
    UNION ALL
    (
        SELECT
            closed.ended_at AS at, jobs.id, jobs.attempt, jobs.state, jobs.due_at, jobs.tenant,
            jobs.kind, jobs.queue
        FROM mainspring.attempts AS closed
        INNER JOIN mainspring.jobs ON closed.job_id = jobs.id AND closed.attempt = jobs.attempt
        WHERE closed.ended_at >= :since::timestamptz
        ORDER BY closed.ended_at
        LIMIT :row_limit::integer
    )
) AS found
ORDER BY found.at
LIMIT :row_limit::integer;
