-- Fires whose turn has come get their jobs. :ids 16 bytes a job, :entries [[nominal, sequence,
-- due], ...].
UPDATE fires
SET
    job_id = substr(:ids, given.key * 16 + 1, 16),
    due_at = json_extract(given.value, '$[2]'),
    decided_at = :now,
    version = :version
FROM json_each(:entries) AS given
WHERE
    fires.schedule_id = :id
    AND fires.nominal_at = json_extract(given.value, '$[0]')
    AND fires.sequence = json_extract(given.value, '$[1]')
    AND fires.backfill_id = :backfill_id
    AND fires.job_id IS NULL;
