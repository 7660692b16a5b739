-- Objects that go with a partition. The bounds prune to that one partition.
SELECT id, payload_ref, result_ref
FROM mainspring.jobs_history
WHERE
    state = :state::text
    AND finished_at >= :begins_at::timestamptz
    AND finished_at < :ends_at::timestamptz
    AND (payload_ref IS NOT null OR result_ref IS NOT null);
