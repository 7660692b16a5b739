-- A session that may claim: alive, and its lease has not run out.
SELECT 1
FROM workers
WHERE
    id = :worker_id
    AND state = 'alive'
    AND lease_until >= :now
    AND (:tenant IS NULL OR tenant = :tenant);
