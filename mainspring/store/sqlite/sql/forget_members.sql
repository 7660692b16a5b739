DELETE FROM operation_jobs
WHERE (operation_id, job_id) IN (
    SELECT member.operation_id, member.job_id
    FROM operations
    INNER JOIN operation_jobs AS member ON operations.id = member.operation_id
    WHERE operations.ended_at < :ended_before
    LIMIT :batch_size
);
