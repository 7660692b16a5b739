-- :positions one element an id.
SELECT jobs.id, jobs.tenant
FROM json_each(:positions) AS given
CROSS JOIN jobs
WHERE jobs.id = substr(:ids, given.key * 16 + 1, 16)
UNION ALL
SELECT jobs_history.id, jobs_history.tenant
FROM json_each(:positions) AS given
CROSS JOIN jobs_history
WHERE jobs_history.id = substr(:ids, given.key * 16 + 1, 16);
