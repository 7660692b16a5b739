SELECT 1
FROM workers
WHERE id = :worker_id AND tenant = :tenant;
