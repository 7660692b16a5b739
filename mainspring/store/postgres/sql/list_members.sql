-- Those that were decided, oldest first.
SELECT job_id, state, outcome, reason
FROM mainspring.operation_jobs
WHERE
    operation_id = :id::uuid
    AND (:after::uuid IS null OR job_id > :after::uuid)
    AND outcome IS NOT null
    AND (:outcomes::text[] IS null OR outcome = any(:outcomes::text[]))
ORDER BY job_id
LIMIT :row_limit::integer;
