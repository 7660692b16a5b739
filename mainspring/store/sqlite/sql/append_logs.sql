-- Lines of held attempts only. :entries [[attempt, sequence, at, level, message, fields], ...].
INSERT INTO job_logs (job_id, attempt, sequence, at, level, message, fields)
SELECT
    jobs.id,
    jobs.attempt,
    json_extract(given.value, '$[1]'),
    json_extract(given.value, '$[2]'),
    json_extract(given.value, '$[3]'),
    json_extract(given.value, '$[4]'),
    json_extract(given.value, '$[5]')
FROM json_each(:entries) AS given
CROSS JOIN jobs
WHERE
    jobs.id = substr(:ids, given.key * 16 + 1, 16)
    AND jobs.attempt = json_extract(given.value, '$[0]')
    AND jobs.worker_id IS NOT NULL
ON CONFLICT (job_id, attempt, sequence) DO NOTHING;
