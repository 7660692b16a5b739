UPDATE jobs
SET state = 'running', attempt = attempt + 1, lease_until = :at + 15000
WHERE id IN (
    SELECT waiting.id
    FROM jobs AS waiting
    WHERE
        waiting.queue = 'default'
        AND waiting.state = 'ready'
        AND waiting.priority = 2
        AND waiting.due_at <= :at
    ORDER BY waiting.due_at, waiting.id
    LIMIT :batch_size
)
RETURNING id, attempt, payload;
