-- Rows of backfills get their jobs, unless somebody gave them one or took them back.
UPDATE mainspring.fires AS fire
SET
    job_id = given.job_id,
    due_at = given.due_at,
    version = given.version,
    decided_at = coalesce(:at::timestamptz, statement_timestamp())
FROM
    unnest(
        :schedule_ids::uuid[], :nominal_ats::timestamptz[], :sequences::integer[],
        :job_ids::uuid[], :due_ats::timestamptz[], :versions::integer[], :backfill_ids::uuid[]
    ) AS given (schedule_id, nominal_at, sequence, job_id, due_at, version, backfill_id)
WHERE
    fire.schedule_id = given.schedule_id
    AND fire.nominal_at = given.nominal_at
    AND fire.sequence = given.sequence
    AND fire.backfill_id = given.backfill_id
    AND fire.job_id IS null
RETURNING fire.job_id;
