UPDATE workers SET state = 'gone', ended_at = :now
WHERE id = :worker_id AND state IN ('alive', 'draining');
