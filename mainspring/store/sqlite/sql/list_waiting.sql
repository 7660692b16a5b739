-- Fires that a backfill has not come to, and what they were.
SELECT schedule_id, nominal_at, sequence, former
FROM fires
WHERE backfill_id = :id AND outcome = 'backfilled' AND job_id IS NULL;
