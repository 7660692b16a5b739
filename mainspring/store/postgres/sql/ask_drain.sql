-- Asked again it is so already.
WITH known AS MATERIALIZED (
    SELECT id, tenant, name, state, drain_asked
    FROM mainspring.workers
    WHERE id = :worker_id::uuid AND state IN ('alive', 'draining')
    FOR NO KEY UPDATE
)

UPDATE mainspring.workers AS worker
SET drain_asked = true
FROM known
WHERE worker.id = known.id
RETURNING known.tenant, known.name, known.state, known.drain_asked;
