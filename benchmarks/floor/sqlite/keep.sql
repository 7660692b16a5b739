INSERT INTO history (
    id, created_at, due_at, finished_at, attempt, priority, state, queue, kind, payload
)
SELECT id, created_at, due_at, :at, attempt, priority, 'succeeded', queue, kind, payload
FROM jobs
WHERE id = :id AND attempt = :attempt;
