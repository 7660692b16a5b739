-- Live jobs, and who may do what with them. Finished jobs leave this table (law 9).
SET LOCAL lock_timeout = '5s';
SET LOCAL statement_timeout = '10min';

CREATE TABLE mainspring.tenants (
    name text NOT NULL,
    created_at timestamptz NOT NULL,
    CONSTRAINT tenants_pkey PRIMARY KEY (name)
);

INSERT INTO mainspring.tenants (name, created_at) VALUES ('default', statement_timestamp());

CREATE TABLE mainspring.queues (
    name text NOT NULL,
    paused_at timestamptz,
    paused_reason text,
    paused_by text,
    CONSTRAINT queues_pkey PRIMARY KEY (name)
);

-- Wide columns come first, so that no row is padded. The claim moves a row in and out of both
-- partial indexes and can never be HOT; the fill factor serves progress, which can.
CREATE TABLE mainspring.jobs (
    id uuid NOT NULL,
    created_at timestamptz NOT NULL,
    due_at timestamptz NOT NULL,
    started_at timestamptz,
    deadline_at timestamptz,
    nominal_at timestamptz,
    progress_done double precision,
    progress_total double precision,
    attempt integer NOT NULL DEFAULT 0,
    timeout_ms integer NOT NULL,
    waiting_parents integer NOT NULL DEFAULT 0,
    priority smallint NOT NULL,
    tries smallint NOT NULL DEFAULT 0,
    crashes smallint NOT NULL DEFAULT 0,
    max_attempts smallint NOT NULL,
    max_crashes smallint NOT NULL,
    replays smallint NOT NULL DEFAULT 0,
    child smallint,
    worker_id uuid,
    dag_run_id uuid,
    schedule_id uuid,
    state text NOT NULL,
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
    unique_while text,
    blocked_reason text,
    reason text,
    error text,
    error_group text,
    progress_note text,
    CONSTRAINT jobs_pkey PRIMARY KEY (id),
    CONSTRAINT jobs_state_is_live CHECK (
        state IN ('blocked', 'scheduled', 'ready', 'running', 'retrying', 'cancelling')
    ),
    CONSTRAINT jobs_held_names_worker CHECK (
        (state IN ('running', 'cancelling')) = (worker_id IS NOT NULL)
    ),
    CONSTRAINT jobs_blocked_says_why CHECK ((state = 'blocked') = (blocked_reason IS NOT NULL)),
    CONSTRAINT jobs_counts CHECK (attempt >= 0 AND tries >= 0 AND crashes >= 0),
    CONSTRAINT jobs_priority CHECK (priority BETWEEN 0 AND 3),
    CONSTRAINT jobs_unique_says_while CHECK (
        (unique_key IS NULL) = (unique_while IS NULL) AND unique_while IN ('live', 'waiting')
    )
) WITH (
    fillfactor = 85,
    autovacuum_vacuum_scale_factor = 0.0,
    autovacuum_vacuum_threshold = 5000,
    autovacuum_vacuum_cost_delay = 0
);

CREATE INDEX jobs_claim ON mainspring.jobs (queue, priority, due_at, id)
WHERE state IN ('scheduled', 'ready', 'retrying');

CREATE INDEX jobs_held ON mainspring.jobs (worker_id, deadline_at)
WHERE state IN ('running', 'cancelling');

-- A key is held while the job is live, or while it has not been started. Rows without a key are
-- not in here and pay nothing.
CREATE UNIQUE INDEX jobs_unique ON mainspring.jobs (tenant, unique_key, unique_while)
WHERE unique_key IS NOT NULL AND (unique_while = 'live' OR attempt = 0);
