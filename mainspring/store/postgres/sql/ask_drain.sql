UPDATE mainspring.workers SET drain_asked = true
WHERE id = :worker_id::uuid AND state IN ('alive', 'draining')
RETURNING id;
