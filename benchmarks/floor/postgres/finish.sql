WITH finished AS (
    DELETE FROM jobs AS job
    USING unnest(:ids::uuid[], :attempts::integer[]) AS given (id, attempt)
    WHERE job.id = given.id AND job.attempt = given.attempt
    RETURNING job.*
)

INSERT INTO history (
    id, created_at, due_at, finished_at, attempt, priority, state, queue, kind, payload
)
SELECT
    id,
    created_at,
    due_at,
    statement_timestamp(),
    attempt,
    priority,
    'succeeded',
    queue,
    kind,
    payload
FROM finished;
