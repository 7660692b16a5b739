UPDATE queues SET paused_at = NULL, paused_reason = NULL, paused_by = NULL
WHERE name = :queue AND paused_at IS NOT NULL;
