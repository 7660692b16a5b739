-- The next fires of a backfill.
SELECT nominal_at, sequence
FROM fires
WHERE backfill_id = :id AND outcome = 'backfilled' AND job_id IS NULL
ORDER BY nominal_at ASC, sequence ASC
LIMIT :batch_size;
