-- Verdicts that end their job, and any verdict on a job that is being cancelled. Runs after
-- settle_again. A non-final verdict here means cancelled: the cancel wins over a retry.
WITH finished AS (
    DELETE FROM mainspring.jobs AS job
    USING
        unnest(
            :ids::uuid[], :attempts::integer[], :attempt_states::text[], :becomes::text[],
            :reasons::text[], :errors::text[], :error_groups::text[], :results::text[],
            :result_refs::text[], :refund_tries::integer[], :refund_crashes::integer[]
        ) AS given (
            id, attempt, attempt_state, becomes, reason, error, error_group, result, result_ref,
            refund_try, refund_crash
        )
    WHERE
        job.id = given.id
        AND job.attempt = given.attempt
        AND job.worker_id IS NOT null
        AND (
            given.becomes IN ('succeeded', 'dead', 'cancelled', 'expired', 'skipped')
            OR job.state = 'cancelling'
        )
    RETURNING
        job.*, given.attempt_state, given.becomes, given.reason AS why, given.error AS failure,
        given.error_group AS failure_group, given.result, given.result_ref,
        given.refund_try, given.refund_crash,
        given.becomes NOT IN ('succeeded', 'dead', 'cancelled', 'expired', 'skipped') AS stopped
),

-- The ledger learns how a scheduled job ended; the others are left out before it is looked at.
closed AS (
    UPDATE mainspring.fires AS fire
    SET
        job_state = CASE WHEN finished.stopped THEN 'cancelled' ELSE finished.becomes END,
        job_ended_at = coalesce(:at::timestamptz, statement_timestamp())
    FROM finished
    WHERE
        finished.schedule_id IS NOT null
        AND fire.schedule_id = finished.schedule_id
        AND fire.nominal_at = finished.nominal_at
        AND fire.job_id = finished.id
        AND fire.outcome IN ('job', 'backfilled')
)

INSERT INTO mainspring.jobs_history (
    id, created_at, due_at, started_at, finished_at, nominal_at, progress_done, progress_total,
    attempt, timeout_ms, priority, tries, crashes, max_attempts, max_crashes, replays, child,
    worker_id, dag_run_id, schedule_id, state, attempt_state, tenant, queue, kind, payload,
    payload_ref, backoff, on_exhausted, effect_key, submission_key, unique_key, reason, error,
    error_group, result, result_ref, progress_note
)
SELECT
    id, created_at, due_at, started_at, coalesce(:at::timestamptz, statement_timestamp()),
    nominal_at, progress_done, progress_total, attempt, timeout_ms, priority,
    greatest(tries - refund_try, 0), greatest(crashes - refund_crash, 0), max_attempts,
    max_crashes, replays, child, worker_id, dag_run_id, schedule_id,
    CASE WHEN stopped THEN 'cancelled' ELSE becomes END, attempt_state, tenant, queue, kind,
    payload, payload_ref, backoff, on_exhausted, effect_key, submission_key, unique_key,
    CASE WHEN stopped THEN 'cancelled' ELSE why END, failure, failure_group, result, result_ref,
    progress_note
FROM finished
RETURNING id, attempt, state;
