-- Rows without a job go from the first fire on that was taken back, at the latest from now on.
DELETE FROM mainspring.fires AS fire
USING unnest(:ids::uuid[], :first_ats::timestamptz[]) AS given (id, first_at)
WHERE
    fire.schedule_id = given.id
    AND fire.job_id IS null
    AND fire.nominal_at
    > least(given.first_at, coalesce(:at::timestamptz, statement_timestamp()))
RETURNING
    fire.schedule_id, fire.nominal_at, fire.sequence, fire.outcome, false AS had_job;
