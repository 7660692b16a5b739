-- Attempts that closed while their job goes on. Jobs being cancelled are left to settle_final,
-- which runs after this one: a job never leaves cancelling otherwise, so none is missed.
-- "state <> cancelling" instead of "= running" keeps the index of held jobs out of the plan.
WITH held AS MATERIALIZED (
    SELECT
        given.*,
        job.worker_id,
        job.child,
        job.started_at,
        job.tenant
    FROM unnest(
        :ids::uuid[], :attempts::integer[], :attempt_states::text[], :becomes::text[],
        :reasons::text[], :delays_ms::bigint[], :errors::text[], :error_groups::text[],
        :refund_tries::integer[], :refund_crashes::integer[]
    ) AS given (
        id, attempt, attempt_state, becomes, reason, delay_ms, error, error_group, refund_try,
        refund_crash
    )
    INNER JOIN mainspring.jobs AS job
        ON given.id = job.id AND given.attempt = job.attempt AND job.worker_id IS NOT null
    WHERE job.state <> 'cancelling'
    FOR NO KEY UPDATE OF job
),

freed AS (
    UPDATE mainspring.jobs AS job
    SET
        state = CASE
            WHEN held.becomes = 'ready' AND held.delay_ms > 0 THEN 'scheduled'
            ELSE held.becomes
        END,
        due_at = coalesce(:at::timestamptz, statement_timestamp())
        + held.delay_ms * interval '1 millisecond',
        tries = greatest(job.tries - held.refund_try, 0),
        crashes = greatest(job.crashes - held.refund_crash, 0),
        worker_id = null,
        child = null,
        started_at = null,
        deadline_at = null,
        reason = held.reason,
        error = coalesce(held.error, job.error),
        error_group = CASE WHEN held.error IS null THEN job.error_group ELSE held.error_group END
    FROM held
    WHERE job.id = held.id
    RETURNING job.id, job.attempt, job.state
),

closed AS (
    INSERT INTO mainspring.attempts (
        job_id, started_at, ended_at, attempt, child, worker_id, tenant, state, reason, error
    )
    SELECT
        id, started_at, coalesce(:at::timestamptz, statement_timestamp()), attempt, child,
        worker_id, tenant, attempt_state, reason, error
    FROM held
)

SELECT freed.id, freed.attempt, freed.state FROM freed;
