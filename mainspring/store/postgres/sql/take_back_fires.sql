-- What was prepared and is not due yet is taken back: jobs that nobody has begun, with their rows
-- and with rows that point to them. Due instants follow nominal ones, so nothing before the newest
-- fire that was due is looked at.
WITH ahead AS MATERIALIZED (
    SELECT fire.job_id
    FROM unnest(:ids::uuid[]) AS given (id)
    CROSS JOIN LATERAL (
        SELECT max(due.nominal_at) AS nominal_at
        FROM (
            SELECT fire.nominal_at
            FROM mainspring.fires AS fire
            WHERE
                fire.schedule_id = given.id
                AND fire.cause IN ('schedule', 'dst_gap')
                AND fire.outcome = 'job'
                AND fire.due_at <= coalesce(:at::timestamptz, statement_timestamp())
            ORDER BY fire.nominal_at DESC
            LIMIT 1
        ) AS due
    ) AS newest
    INNER JOIN mainspring.fires AS fire
        ON
            given.id = fire.schedule_id
            AND fire.nominal_at > coalesce(newest.nominal_at, '-infinity')
    WHERE
        fire.outcome = 'job'
        AND fire.cause IN ('schedule', 'dst_gap')
        AND fire.job_state IS null
        AND fire.due_at > coalesce(:at::timestamptz, statement_timestamp())
),

prepared AS MATERIALIZED (
    SELECT job.id
    FROM ahead
    INNER JOIN mainspring.jobs AS job ON ahead.job_id = job.id
    WHERE
        job.attempt = 0
        AND job.due_at > coalesce(:at::timestamptz, statement_timestamp())
    ORDER BY job.id
    FOR NO KEY UPDATE OF job
),

taken_back AS (
    DELETE FROM mainspring.jobs AS job
    USING prepared
    WHERE job.id = prepared.id
    RETURNING job.id, job.schedule_id, job.nominal_at
),

own AS (
    DELETE FROM mainspring.fires AS fire
    USING taken_back
    WHERE
        fire.schedule_id = taken_back.schedule_id
        AND fire.nominal_at = taken_back.nominal_at
        AND fire.job_id = taken_back.id
        AND fire.outcome = 'job'
    RETURNING fire.*
),

pointing AS (
    DELETE FROM mainspring.fires AS fire
    USING taken_back
    WHERE fire.job_id = taken_back.id AND fire.outcome = 'coalesced_into'
    RETURNING fire.*
)

SELECT schedule_id, nominal_at, sequence, outcome, true AS had_job FROM own
UNION ALL
SELECT schedule_id, nominal_at, sequence, outcome, false AS had_job FROM pointing;
