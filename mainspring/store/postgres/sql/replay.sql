WITH revived AS (
    DELETE FROM mainspring.jobs_history
    WHERE state = 'dead' AND id = any(:ids::uuid[])
    RETURNING *
),

closed AS (
    INSERT INTO mainspring.attempts (
        job_id, started_at, ended_at, attempt, child, worker_id, tenant, state, reason, error
    )
    SELECT
        id, coalesce(started_at, finished_at), finished_at, attempt, child, worker_id, tenant,
        attempt_state, reason, error
    FROM revived
    WHERE attempt_state IS NOT null
),

again AS (
    INSERT INTO mainspring.jobs (
        id, created_at, due_at, nominal_at, attempt, timeout_ms, priority, max_attempts,
        max_crashes, replays, dag_run_id, schedule_id, state, tenant, queue, kind, payload,
        payload_ref, backoff, on_exhausted, effect_key, submission_key, error, error_group
    )
    SELECT
        id, created_at, coalesce(:at::timestamptz, statement_timestamp()), nominal_at, attempt,
        timeout_ms, priority, max_attempts, max_crashes, replays + 1, dag_run_id, schedule_id,
        'ready', tenant, queue, kind, coalesce(:payload::text, payload),
        CASE WHEN :payload::text IS null THEN payload_ref END, backoff, on_exhausted, effect_key,
        submission_key, error, error_group
    FROM revived
),

-- The ledger waits for the new end. It holds no right to be alone: another may be live by now.
reopened AS (
    UPDATE mainspring.fires AS fire
    SET job_state = null, job_ended_at = null, alone = false
    FROM revived
    WHERE
        revived.schedule_id IS NOT null
        AND fire.schedule_id = revived.schedule_id
        AND fire.nominal_at = revived.nominal_at
        AND fire.job_id = revived.id
        AND fire.outcome IN ('job', 'backfilled')
)

SELECT
    revived.id, revived.tenant, revived.kind, revived.tries, revived.crashes, revived.payload,
    revived.payload_ref, revived.result_ref
FROM revived;
