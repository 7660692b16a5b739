UPDATE workers
SET beat_at = :now, lease_until = :now + lease_ms * 1000
WHERE id = :worker_id AND state IN ('alive', 'draining') AND lease_until >= :now
RETURNING lease_ms, drain_asked;
