-- Spans without a job end where the taking back begins; nobody counted how many that leaves.
UPDATE mainspring.fires AS fire
SET
    through = least(
        given.first_at - interval '1 second',
        date_trunc('second', coalesce(:at::timestamptz, statement_timestamp()))
    ),
    fire_count = null
FROM unnest(:ids::uuid[], :first_ats::timestamptz[]) AS given (id, first_at)
WHERE
    fire.schedule_id = given.id
    AND fire.job_id IS null
    AND fire.through > least(
        given.first_at - interval '1 second',
        date_trunc('second', coalesce(:at::timestamptz, statement_timestamp()))
    );
