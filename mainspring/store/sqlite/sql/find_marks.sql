-- Jobs that can be changed, as they stand.
SELECT jobs.id, jobs.attempt, jobs.replays, jobs.due_at, jobs.queue, 0 AS is_final
FROM json_each(:positions) AS given
CROSS JOIN jobs
WHERE jobs.id = substr(:ids, given.key * 16 + 1, 16)
UNION ALL
SELECT
    jobs_history.id, jobs_history.attempt, jobs_history.replays, jobs_history.due_at,
    jobs_history.queue, 1 AS is_final
FROM json_each(:positions) AS given
CROSS JOIN jobs_history
WHERE
    jobs_history.id = substr(:ids, given.key * 16 + 1, 16)
    AND jobs_history.state = 'dead';
