INSERT INTO mainspring.queues (name, paused_at, paused_reason, paused_by)
VALUES (
    :queue::text, coalesce(:at::timestamptz, statement_timestamp()), :reason::text, :actor::text
)
ON CONFLICT (name) DO UPDATE
SET
    paused_at = excluded.paused_at,
    paused_reason = excluded.paused_reason,
    paused_by = excluded.paused_by
WHERE queues.paused_at IS null
RETURNING name;
