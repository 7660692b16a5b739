-- How attempts closed, the state of the job where it was the last one.
SELECT json_group_array(json_array(closed.position, closed.state, closed.attempt_state))
FROM (
    SELECT given.key AS position, jobs_history.state, jobs_history.attempt_state
    FROM json_each(:attempts) AS given
    CROSS JOIN jobs_history
    WHERE
        jobs_history.id = substr(:ids, given.key * 16 + 1, 16)
        AND jobs_history.attempt = given.value
        AND jobs_history.attempt_state IS NOT NULL
    UNION ALL
    SELECT given.key AS position, NULL AS state, attempts.state AS attempt_state
    FROM json_each(:attempts) AS given
    CROSS JOIN attempts
    WHERE
        attempts.job_id = substr(:ids, given.key * 16 + 1, 16)
        AND attempts.attempt = given.value
) AS closed;
