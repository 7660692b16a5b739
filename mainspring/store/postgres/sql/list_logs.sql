SELECT job_id, attempt, sequence, at, level, message, fields
FROM mainspring.job_logs
WHERE
    job_id = :id::uuid
    AND (
        :after_attempt::integer IS null
        OR (attempt, sequence) > (:after_attempt::integer, :after_sequence::integer)
    )
ORDER BY attempt, sequence
LIMIT :row_limit::integer;
