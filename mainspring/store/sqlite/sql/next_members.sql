SELECT job_id, state, attempt, replays, due_at
FROM operation_jobs
WHERE operation_id = :id AND job_id > :after_id
ORDER BY job_id
LIMIT :page_size;
