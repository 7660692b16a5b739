-- One look at the head of each queue and priority; rounded up, so that a rest is never too short.
SELECT
    ceil(
        1000 * extract(
            EPOCH FROM
            min(greatest(head.due_at, coalesce(:at::timestamptz, statement_timestamp())))
            - coalesce(:at::timestamptz, statement_timestamp())
        )
    )::bigint AS wait_ms
FROM unnest(:queues::text[]) AS lane (queue)
CROSS JOIN (VALUES (0::smallint), (1::smallint), (2::smallint), (3::smallint))
    AS level (priority)
CROSS JOIN LATERAL (
    SELECT waiting.due_at
    FROM mainspring.jobs AS waiting
    WHERE
        waiting.queue = lane.queue
        AND waiting.priority = level.priority
        AND waiting.state IN ('scheduled', 'ready', 'retrying')
        AND waiting.kind = any(:kinds::text[])
        AND (:tenant::text IS null OR waiting.tenant = :tenant::text)
    ORDER BY waiting.due_at, waiting.id
    LIMIT 1
) AS head
WHERE
    NOT EXISTS (
        SELECT FROM mainspring.queues AS held
        WHERE held.name = lane.queue AND held.paused_at IS NOT null
    );
