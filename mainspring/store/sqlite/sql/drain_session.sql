UPDATE workers SET state = 'draining'
WHERE id = :worker_id AND state = 'alive';
