-- Whoever waited longest comes first; those that may not go on yet come last.
SELECT id, step_at FROM operations
WHERE state = 'running'
ORDER BY step_at
LIMIT :page_size;
