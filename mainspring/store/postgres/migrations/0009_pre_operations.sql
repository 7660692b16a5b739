-- Bulk actions as objects, and the jobs that each of them is about.
SET LOCAL lock_timeout = '5s';
SET LOCAL statement_timeout = '10min';

-- A row is read and written whole; only what is looked for stands beside the record.
CREATE TABLE mainspring.operations (
    id uuid NOT NULL,
    step_at timestamptz NOT NULL,
    ended_at timestamptz,
    state text NOT NULL,
    tenant text,
    record text NOT NULL,
    CONSTRAINT operations_pkey PRIMARY KEY (id),
    CONSTRAINT operations_state_is_known CHECK (
        state IN ('previewed', 'running', 'paused', 'done', 'aborted', 'failed')
    ),
    CONSTRAINT operations_ended CHECK ((state IN ('done', 'aborted')) = (ended_at IS NOT NULL))
);

CREATE INDEX operations_running ON mainspring.operations (step_at) WHERE state = 'running';

-- How a job stood when it was found, and what became of it. Of its own operation a row is only
-- ever reached by the key, in order; an outcome is a HOT update.
CREATE TABLE mainspring.operation_jobs (
    operation_id uuid NOT NULL,
    job_id uuid NOT NULL,
    due_at timestamptz NOT NULL,
    attempt integer NOT NULL,
    replays smallint NOT NULL,
    state text NOT NULL,
    outcome text,
    reason text,
    CONSTRAINT operation_jobs_pkey PRIMARY KEY (operation_id, job_id),
    CONSTRAINT operation_jobs_outcome_is_known CHECK (
        outcome IN ('changed', 'left_alone', 'failed')
    )
) WITH (
    fillfactor = 85,
    autovacuum_vacuum_scale_factor = 0.02,
    autovacuum_vacuum_threshold = 5000
);
