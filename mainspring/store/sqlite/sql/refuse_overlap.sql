-- The second wall: a judge believed that no exclusive job was live. One row.
UPDATE fires
SET outcome = 'skipped_overlap', job_id = NULL, missed = NULL, alone = 0
WHERE schedule_id = :id AND nominal_at = :nominal_at AND sequence = :sequence;
