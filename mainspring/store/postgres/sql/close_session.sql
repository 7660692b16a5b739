UPDATE mainspring.workers
SET state = 'gone', ended_at = coalesce(:at::timestamptz, statement_timestamp())
WHERE id = :worker_id::uuid AND state IN ('alive', 'draining');
