UPDATE workers SET drain_asked = 1
WHERE id = :worker_id AND state IN ('alive', 'draining');
