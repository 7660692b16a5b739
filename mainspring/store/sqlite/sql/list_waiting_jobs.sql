-- What run_now is about to change.
SELECT jobs.id, jobs.tenant, jobs.state, jobs.due_at
FROM json_each(:positions) AS given
CROSS JOIN jobs
WHERE
    jobs.id = substr(:ids, given.key * 16 + 1, 16)
    AND jobs.state IN ('scheduled', 'retrying')
    AND jobs.due_at > :now;
