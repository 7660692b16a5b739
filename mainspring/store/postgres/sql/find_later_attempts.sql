-- Jobs of which an attempt ended after an instant.
SELECT DISTINCT job_id
FROM mainspring.attempts
WHERE job_id = any(:ids::uuid[]) AND ended_at > :until::timestamptz;
