DELETE FROM mainspring.operation_jobs
WHERE (operation_id, job_id) IN (
    SELECT member.operation_id, member.job_id
    FROM mainspring.operations AS old
    INNER JOIN mainspring.operation_jobs AS member ON old.id = member.operation_id
    WHERE old.ended_at < :before::timestamptz
    LIMIT :row_limit::integer
)
RETURNING attempt;
