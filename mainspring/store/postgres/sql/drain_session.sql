UPDATE mainspring.workers SET state = 'draining'
WHERE id = :worker_id::uuid AND state = 'alive';
