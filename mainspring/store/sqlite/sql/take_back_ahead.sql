-- Rows without a job that lie ahead.
DELETE FROM fires
WHERE
    schedule_id = :id
    AND nominal_at > :after_at
    AND job_id IS NULL
    AND outcome <> 'backfilled'
RETURNING nominal_at, sequence, outcome;
