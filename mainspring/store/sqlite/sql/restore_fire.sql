-- A fire that a backfill had taken up is again what it was.
UPDATE fires
SET
    outcome = :outcome,
    cause = :cause,
    due_at = :due_at,
    decided_at = :decided_at,
    version = :version,
    job_id = :job_id,
    backfill_id = :backfill_id,
    note = :note,
    missed = :missed,
    job_state = :job_state,
    job_ended_at = :job_ended_at,
    alone = :alone,
    former = NULL
WHERE schedule_id = :id AND nominal_at = :nominal_at AND sequence = :sequence;
