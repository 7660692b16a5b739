WITH paused AS MATERIALIZED (
    SELECT name, paused_at, paused_reason, paused_by
    FROM mainspring.queues
    WHERE name = :queue::text AND paused_at IS NOT null
    FOR NO KEY UPDATE
)

UPDATE mainspring.queues AS queue
SET paused_at = null, paused_reason = null, paused_by = null
FROM paused
WHERE queue.name = paused.name
RETURNING paused.paused_at, paused.paused_reason, paused.paused_by;
