SELECT id, attempt, replays, due_at, queue
FROM mainspring.jobs_history
WHERE state = 'dead' AND id = any(:ids::uuid[])
ORDER BY id
FOR UPDATE;
