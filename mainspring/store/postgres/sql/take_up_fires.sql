-- Rows of the past become a backfill's. What each was before is kept whole, so that it comes back
-- if the backfill is cancelled first. Rows whose job is live, or that wait in a backfill, stay, and
-- are not even held: whoever ends those jobs takes their rows in an order of its own.
WITH taken AS (
    SELECT fire.schedule_id, fire.nominal_at, fire.sequence
    FROM unnest(:nominal_ats::timestamptz[], :sequences::integer[])
        AS given (nominal_at, sequence)
    INNER JOIN mainspring.fires AS fire
        ON
            fire.schedule_id = :schedule_id::uuid
            AND given.nominal_at = fire.nominal_at
            AND given.sequence = fire.sequence
    WHERE fire.job_state IS NOT null OR fire.outcome NOT IN ('job', 'backfilled')
    ORDER BY fire.nominal_at, fire.sequence
    FOR NO KEY UPDATE OF fire
)

UPDATE mainspring.fires AS fire
SET
    former = (to_jsonb(fire) - 'former')::text,
    note = 'was ' || fire.outcome || coalesce(', ' || fire.job_state, '')
    || coalesce(': ' || fire.note, ''),
    due_at = fire.nominal_at,
    version = :version::integer,
    outcome = 'backfilled',
    cause = 'backfill',
    decided_at = coalesce(:at::timestamptz, statement_timestamp()),
    backfill_id = :id::uuid,
    alone = false,
    missed = null,
    job_id = null,
    job_state = null,
    job_ended_at = null
FROM taken
WHERE
    fire.schedule_id = taken.schedule_id
    AND fire.nominal_at = taken.nominal_at
    AND fire.sequence = taken.sequence
RETURNING fire.nominal_at;
