-- Fires that wait for their turn in a backfill. :entries [[nominal, sequence, note, former], ...].
INSERT INTO fires (
    schedule_id, nominal_at, sequence, outcome, cause, due_at, decided_at, version, fire_count,
    backfill_id, note, former
)
SELECT
    :id,
    json_extract(given.value, '$[0]'),
    json_extract(given.value, '$[1]'),
    'backfilled',
    'backfill',
    json_extract(given.value, '$[0]'),
    :now,
    :version,
    1,
    :backfill_id,
    json_extract(given.value, '$[2]'),
    json_extract(given.value, '$[3]')
FROM json_each(:entries) AS given
WHERE true
ON CONFLICT (schedule_id, nominal_at, sequence) DO UPDATE SET
    outcome = excluded.outcome,
    cause = excluded.cause,
    due_at = excluded.due_at,
    decided_at = excluded.decided_at,
    version = excluded.version,
    job_id = NULL,
    backfill_id = excluded.backfill_id,
    note = excluded.note,
    missed = NULL,
    job_state = NULL,
    job_ended_at = NULL,
    alone = 0,
    former = excluded.former;
