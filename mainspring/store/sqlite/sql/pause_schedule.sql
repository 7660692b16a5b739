UPDATE schedules
SET paused_at = :now, paused_by = :paused_by, paused_reason = :reason, paused_until = :until_at
WHERE id = :id;
