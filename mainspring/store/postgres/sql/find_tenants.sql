SELECT id, tenant
FROM mainspring.jobs
WHERE id = any(:ids::uuid[])
UNION ALL
SELECT id, tenant
FROM mainspring.jobs_history
WHERE
    id = any(:ids::uuid[])
    AND finished_at >= coalesce(:finished_after::timestamptz, '-infinity');
