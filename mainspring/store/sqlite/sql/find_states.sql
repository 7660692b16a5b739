-- :positions one element an id; answers [[position, state, due, worker, tenant], ...].
SELECT
    json_group_array(
        json_array(
            found.position, found.state, found.due_at, found.worker_id, found.tenant
        )
    )
FROM (
    SELECT
        given.key AS position, jobs.state, jobs.due_at, hex(jobs.worker_id) AS worker_id,
        jobs.tenant
    FROM json_each(:positions) AS given
    CROSS JOIN jobs
    WHERE jobs.id = substr(:ids, given.key * 16 + 1, 16)
    UNION ALL
    SELECT
        given.key AS position, jobs_history.state, jobs_history.due_at, '' AS worker_id,
        jobs_history.tenant
    FROM json_each(:positions) AS given
    CROSS JOIN jobs_history
    WHERE jobs_history.id = substr(:ids, given.key * 16 + 1, 16)
) AS found;
