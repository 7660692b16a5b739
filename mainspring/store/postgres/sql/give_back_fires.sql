-- What waits in these backfills is given back: rows that they wrote are deleted, rows that they
-- took up are again what they were.
WITH waiting AS MATERIALIZED (
    SELECT fire.schedule_id, fire.nominal_at, fire.sequence, fire.former
    FROM unnest(:ids::uuid[]) AS given (id)
    INNER JOIN mainspring.fires AS fire ON given.id = fire.backfill_id AND fire.job_id IS null
    ORDER BY fire.nominal_at, fire.sequence
    FOR UPDATE OF fire
),

deleted AS (
    DELETE FROM mainspring.fires AS fire
    USING waiting
    WHERE
        waiting.former IS null
        AND fire.schedule_id = waiting.schedule_id
        AND fire.nominal_at = waiting.nominal_at
        AND fire.sequence = waiting.sequence
)

UPDATE mainspring.fires AS fire
SET
    due_at = earlier.due_at,
    decided_at = earlier.decided_at,
    through = earlier.through,
    job_ended_at = earlier.job_ended_at,
    job_id = earlier.job_id,
    backfill_id = earlier.backfill_id,
    version = earlier.version,
    fire_count = earlier.fire_count,
    alone = earlier.alone,
    outcome = earlier.outcome,
    cause = earlier.cause,
    wall_time = earlier.wall_time,
    note = earlier.note,
    missed = earlier.missed,
    job_state = earlier.job_state,
    former = null
FROM waiting
CROSS JOIN LATERAL jsonb_populate_record(null::mainspring.fires, waiting.former::jsonb) AS earlier
WHERE
    waiting.former IS NOT null
    AND fire.schedule_id = waiting.schedule_id
    AND fire.nominal_at = waiting.nominal_at
    AND fire.sequence = waiting.sequence;
