UPDATE mainspring.operation_jobs AS member
SET outcome = given.outcome, reason = given.reason
FROM
    unnest(:job_ids::uuid[], :outcomes::text[], :reasons::text[]) AS given (
        job_id, outcome, reason
    )
WHERE member.operation_id = :id::uuid AND member.job_id = given.job_id;
