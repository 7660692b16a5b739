SELECT job_id, state, attempt, replays, due_at
FROM mainspring.operation_jobs
WHERE operation_id = :id::uuid AND (:after::uuid IS null OR job_id > :after::uuid)
ORDER BY job_id
LIMIT :row_limit::integer;
