-- Final jobs, by state and time, dropped by whole partitions. Each row embeds its last attempt
-- (attempt_state is null when that attempt lies in attempts, or when the job never ran).
SET LOCAL lock_timeout = '5s';
SET LOCAL statement_timeout = '10min';

CREATE TABLE mainspring.jobs_history (
    id uuid NOT NULL,
    created_at timestamptz NOT NULL,
    due_at timestamptz NOT NULL,
    started_at timestamptz,
    finished_at timestamptz NOT NULL,
    nominal_at timestamptz,
    progress_done double precision,
    progress_total double precision,
    attempt integer NOT NULL,
    timeout_ms integer NOT NULL,
    priority smallint NOT NULL,
    tries smallint NOT NULL,
    crashes smallint NOT NULL,
    max_attempts smallint NOT NULL,
    max_crashes smallint NOT NULL,
    replays smallint NOT NULL,
    child smallint,
    worker_id uuid,
    dag_run_id uuid,
    schedule_id uuid,
    state text NOT NULL,
    attempt_state text,
    tenant text NOT NULL,
    queue text NOT NULL,
    kind text NOT NULL,
    payload text NOT NULL,
    payload_ref text,
    backoff text,
    on_exhausted text,
    effect_key text,
    submission_key text,
    unique_key text,
    reason text,
    error text,
    error_group text,
    result text,
    result_ref text,
    progress_note text,
    CONSTRAINT jobs_history_state_is_final CHECK (
        state IN ('succeeded', 'dead', 'cancelled', 'expired', 'skipped')
    ),
    CONSTRAINT jobs_history_attempt_is_closed CHECK (
        attempt_state IN ('succeeded', 'failed', 'timed_out', 'lost', 'cancelled', 'released')
    )
) PARTITION BY LIST (state);

CREATE INDEX jobs_history_id ON mainspring.jobs_history (id);

CREATE TABLE mainspring.jobs_history_succeeded PARTITION OF mainspring.jobs_history
FOR VALUES IN ('succeeded') PARTITION BY RANGE (finished_at);
CREATE TABLE mainspring.jobs_history_dead PARTITION OF mainspring.jobs_history
FOR VALUES IN ('dead') PARTITION BY RANGE (finished_at);
CREATE TABLE mainspring.jobs_history_cancelled PARTITION OF mainspring.jobs_history
FOR VALUES IN ('cancelled') PARTITION BY RANGE (finished_at);
CREATE TABLE mainspring.jobs_history_expired PARTITION OF mainspring.jobs_history
FOR VALUES IN ('expired') PARTITION BY RANGE (finished_at);
CREATE TABLE mainspring.jobs_history_skipped PARTITION OF mainspring.jobs_history
FOR VALUES IN ('skipped') PARTITION BY RANGE (finished_at);

-- Groups of failures: the newest first. What succeeded has none, so it is not looked at.
CREATE INDEX jobs_history_dead_failures ON mainspring.jobs_history_dead (finished_at)
WHERE error_group IS NOT NULL;
CREATE INDEX jobs_history_cancelled_failures ON mainspring.jobs_history_cancelled (finished_at)
WHERE error_group IS NOT NULL;
CREATE INDEX jobs_history_expired_failures ON mainspring.jobs_history_expired (finished_at)
WHERE error_group IS NOT NULL;

-- What falls outside every prepared partition is kept here: finishing a job never fails for it.
CREATE TABLE mainspring.jobs_history_succeeded_default
PARTITION OF mainspring.jobs_history_succeeded DEFAULT;
CREATE TABLE mainspring.jobs_history_dead_default
PARTITION OF mainspring.jobs_history_dead DEFAULT;
CREATE TABLE mainspring.jobs_history_cancelled_default
PARTITION OF mainspring.jobs_history_cancelled DEFAULT;
CREATE TABLE mainspring.jobs_history_expired_default
PARTITION OF mainspring.jobs_history_expired DEFAULT;
CREATE TABLE mainspring.jobs_history_skipped_default
PARTITION OF mainspring.jobs_history_skipped DEFAULT;
