SELECT attempt, sequence, at, level, message, fields
FROM job_logs
WHERE job_id = :id AND (attempt, sequence) > (:attempt, :sequence)
ORDER BY attempt, sequence
LIMIT :page_size;
