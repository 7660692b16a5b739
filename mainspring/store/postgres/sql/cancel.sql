-- Waiting jobs end here; held ones too when forced (their attempt closes as cancelled and is
-- stale from then on), otherwise they are asked to stop. What cannot be found is not returned.
-- A row that was claimed while we waited for it is first tried as it was before, constraints and
-- all; only then does PostgreSQL take the newer one. So the new state must fit both.
WITH target AS MATERIALIZED (
    SELECT
        id, tenant, state, worker_id,
        worker_id IS null OR id = any(:forced_ids::uuid[]) AS ends
    FROM mainspring.jobs
    WHERE id = any(:ids::uuid[])
    ORDER BY id
    FOR NO KEY UPDATE
),

finished AS (
    DELETE FROM mainspring.jobs AS job
    USING target
    WHERE job.id = target.id AND target.ends
    RETURNING job.*
),

kept AS (
    INSERT INTO mainspring.jobs_history (
        id, created_at, due_at, started_at, finished_at, nominal_at, progress_done,
        progress_total, attempt, timeout_ms, priority, tries, crashes, max_attempts, max_crashes,
        replays, child, worker_id, dag_run_id, schedule_id, state, attempt_state, tenant, queue,
        kind, payload, payload_ref, backoff, on_exhausted, effect_key, submission_key,
        unique_key, reason, error, error_group, progress_note
    )
    SELECT
        id, created_at, due_at, started_at, coalesce(:at::timestamptz, statement_timestamp()),
        nominal_at, progress_done, progress_total, attempt, timeout_ms, priority, tries, crashes,
        max_attempts, max_crashes, replays, child, worker_id, dag_run_id, schedule_id,
        'cancelled', CASE WHEN worker_id IS NOT null THEN 'cancelled' END, tenant, queue, kind,
        payload, payload_ref, backoff, on_exhausted, effect_key, submission_key, unique_key,
        :reason::text, error, error_group, progress_note
    FROM finished
),

-- The ledger learns how a scheduled job ended; the others are left out before it is looked at.
closed AS (
    UPDATE mainspring.fires AS fire
    SET
        job_state = 'cancelled',
        job_ended_at = coalesce(:at::timestamptz, statement_timestamp())
    FROM finished
    WHERE
        finished.schedule_id IS NOT null
        AND fire.schedule_id = finished.schedule_id
        AND fire.nominal_at = finished.nominal_at
        AND fire.job_id = finished.id
        AND fire.outcome IN ('job', 'backfilled')
),

stopping AS (
    UPDATE mainspring.jobs AS job
    SET
        state = CASE WHEN job.worker_id IS null THEN job.state ELSE 'cancelling' END,
        reason = :reason::text
    FROM target
    WHERE job.id = target.id AND NOT target.ends AND target.state = 'running'
)

SELECT
    target.id,
    CASE WHEN target.ends THEN 'cancelled' ELSE 'cancelling' END AS state,
    target.ends OR target.state = 'running' AS changed,
    CASE WHEN NOT target.ends THEN target.worker_id END AS worker_id,
    target.tenant,
    target.state AS former
FROM target;
