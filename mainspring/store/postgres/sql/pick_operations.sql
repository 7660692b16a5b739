-- Whoever waited longest comes first; those that may not go on yet come last.
SELECT id, step_at, coalesce(:at::timestamptz, statement_timestamp()) AS now
FROM mainspring.operations
WHERE state = 'running'
ORDER BY step_at
LIMIT :row_limit::integer;
