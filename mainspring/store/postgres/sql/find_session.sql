SELECT FROM mainspring.workers
WHERE id = :worker_id::uuid AND tenant = :tenant::text;
