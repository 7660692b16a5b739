-- The second wall: an exclusive job met another live one, so its row, and those that point to it,
-- say so. The rows were written in this transaction.
UPDATE mainspring.fires AS fire
SET outcome = 'skipped_overlap', job_id = null, alone = false, missed = null
FROM
    unnest(:schedule_ids::uuid[], :nominal_ats::timestamptz[], :sequences::integer[])
    AS given (schedule_id, nominal_at, sequence)
WHERE
    fire.schedule_id = given.schedule_id
    AND fire.nominal_at = given.nominal_at
    AND fire.sequence = given.sequence;
