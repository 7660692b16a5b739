-- The fence: positions and states of those (id, attempt) that are held right now, and whether they
-- are jobs of fires.
SELECT
    json_group_array(
        json_array(
            given.key,
            jobs.state,
            json(CASE WHEN jobs.schedule_id IS NULL THEN 'false' ELSE 'true' END)
        )
    )
FROM json_each(:attempts) AS given
CROSS JOIN jobs
WHERE
    jobs.id = substr(:ids, given.key * 16 + 1, 16)
    AND jobs.attempt = given.value
    AND jobs.worker_id IS NOT NULL;
