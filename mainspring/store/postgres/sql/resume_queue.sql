UPDATE mainspring.queues
SET paused_at = null, paused_reason = null, paused_by = null
WHERE name = :queue::text AND paused_at IS NOT null
RETURNING name;
