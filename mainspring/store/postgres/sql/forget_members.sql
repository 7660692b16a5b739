DELETE FROM mainspring.operation_jobs
WHERE (operation_id, job_id) IN (
    SELECT member.operation_id, member.job_id
    FROM mainspring.operations AS stale
    INNER JOIN mainspring.operation_jobs AS member ON stale.id = member.operation_id
    WHERE stale.ended_at < :before::timestamptz
    LIMIT :row_limit::integer
)
RETURNING attempt;
