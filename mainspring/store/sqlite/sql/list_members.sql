-- Those that were decided, oldest first.
SELECT job_id, state, outcome, reason
FROM operation_jobs
WHERE
    operation_id = :id
    AND job_id > :after_id
    AND outcome IS NOT NULL
    AND (:outcomes IS NULL OR outcome IN (SELECT wanted.value FROM json_each(:outcomes) AS wanted))
ORDER BY job_id
LIMIT :page_size;
