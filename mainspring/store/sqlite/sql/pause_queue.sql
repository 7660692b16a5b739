INSERT INTO queues (name, paused_at, paused_reason, paused_by)
VALUES (:queue, :now, :reason, :actor)
ON CONFLICT (name) DO UPDATE SET
    paused_at = excluded.paused_at,
    paused_reason = excluded.paused_reason,
    paused_by = excluded.paused_by
WHERE queues.paused_at IS NULL;
