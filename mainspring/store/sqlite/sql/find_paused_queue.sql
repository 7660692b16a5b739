SELECT paused_at, paused_reason, paused_by
FROM queues
WHERE name = :queue AND paused_at IS NOT NULL;
