-- :entries [[outcome, reason], ...].
UPDATE operation_jobs
SET
    outcome = json_extract(given.value, '$[0]'),
    reason = json_extract(given.value, '$[1]')
FROM json_each(:entries) AS given
WHERE
    operation_jobs.operation_id = :id
    AND operation_jobs.job_id = substr(:ids, given.key * 16 + 1, 16);
