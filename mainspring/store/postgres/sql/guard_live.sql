-- Jobs as they stand, held until the end of the transaction; a claim passes over them.
SELECT id, attempt, replays, due_at, queue
FROM mainspring.jobs
WHERE id = any(:ids::uuid[])
ORDER BY id
FOR NO KEY UPDATE;
