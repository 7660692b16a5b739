SELECT tenant, name, state, drain_asked
FROM workers
WHERE id = :worker_id AND state IN ('alive', 'draining');
