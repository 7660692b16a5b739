DELETE FROM operation_jobs
WHERE (operation_id, job_id) IN (
    SELECT member.operation_id, member.job_id
    FROM operations
    CROSS JOIN operation_jobs AS member
    WHERE operations.ended_at < :ended_before AND member.operation_id = operations.id
    LIMIT :batch_size
);
