-- A job finishes after it was made, so older partitions are left out; the instant inside an id
-- is its maker's, so whoever finds nothing asks again without that bound.
SELECT id, state
FROM mainspring.jobs_history
WHERE
    id = any(:ids::uuid[])
    AND finished_at >= coalesce(:finished_after::timestamptz, '-infinity');
