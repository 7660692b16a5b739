UPDATE mainspring.workers
SET
    beat_at = coalesce(:at::timestamptz, statement_timestamp()),
    lease_until = coalesce(:at::timestamptz, statement_timestamp())
    + lease_ms * interval '1 millisecond'
WHERE
    id = :worker_id::uuid
    AND state IN ('alive', 'draining')
    AND lease_until >= coalesce(:at::timestamptz, statement_timestamp())
RETURNING lease_ms, drain_asked;
