-- The whole schema as the migrations leave it, for reading. A test compares the two; change both.

CREATE SCHEMA IF NOT EXISTS mainspring;

-- The book of applied steps; it is there before the first step.
CREATE TABLE mainspring.migrations (
    name text NOT NULL,
    checksum text NOT NULL,
    applied_at timestamptz NOT NULL,
    by_version text NOT NULL,
    CONSTRAINT migrations_pkey PRIMARY KEY (name)
);

-- Live jobs, and who may do what with them. Finished jobs leave this table (law 9).

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

-- Final jobs, by state and time, dropped by whole partitions. Each row embeds its last attempt
-- (attempt_state is null when that attempt lies in attempts, or when the job never ran).

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

-- Closed attempts that were not their job's last, log lines, and who did what.

CREATE TABLE mainspring.attempts (
    job_id uuid NOT NULL,
    started_at timestamptz NOT NULL,
    ended_at timestamptz NOT NULL,
    attempt integer NOT NULL,
    child smallint,
    worker_id uuid,
    tenant text NOT NULL,
    state text NOT NULL,
    reason text,
    error text,
    CONSTRAINT attempts_pkey PRIMARY KEY (job_id, attempt, ended_at),
    CONSTRAINT attempts_state_is_closed CHECK (
        state IN ('succeeded', 'failed', 'timed_out', 'lost', 'cancelled', 'released')
    )
) PARTITION BY RANGE (ended_at);

CREATE TABLE mainspring.attempts_default PARTITION OF mainspring.attempts DEFAULT;

-- Partitioned by the line's own instant, not by when it came: so a repeated line meets itself in
-- the same partition, and the key refuses it.
CREATE TABLE mainspring.job_logs (
    job_id uuid NOT NULL,
    at timestamptz NOT NULL,
    attempt integer NOT NULL,
    sequence integer NOT NULL,
    level text NOT NULL,
    message text NOT NULL,
    fields text NOT NULL,
    CONSTRAINT job_logs_pkey PRIMARY KEY (job_id, attempt, sequence, at)
) PARTITION BY RANGE (at);

CREATE TABLE mainspring.job_logs_default PARTITION OF mainspring.job_logs DEFAULT;

CREATE TABLE mainspring.audit (
    at timestamptz NOT NULL,
    actor text NOT NULL,
    action text NOT NULL,
    subject text NOT NULL,
    detail text NOT NULL
) PARTITION BY RANGE (at);

CREATE INDEX audit_subject ON mainspring.audit (subject, at);

CREATE TABLE mainspring.audit_default PARTITION OF mainspring.audit DEFAULT;

-- Worker sessions (one row a session, rewritten with every beat), what they can do, and keys.

CREATE TABLE mainspring.workers (
    id uuid NOT NULL,
    started_at timestamptz NOT NULL,
    beat_at timestamptz NOT NULL,
    lease_until timestamptz NOT NULL,
    ended_at timestamptz,
    lease_ms integer NOT NULL,
    pid integer NOT NULL,
    drain_asked boolean NOT NULL DEFAULT false,
    state text NOT NULL,
    name text NOT NULL,
    host text NOT NULL,
    version text NOT NULL,
    queues text NOT NULL,
    kinds text NOT NULL,
    CONSTRAINT workers_pkey PRIMARY KEY (id),
    CONSTRAINT workers_state CHECK (state IN ('alive', 'draining', 'lost', 'gone')),
    CONSTRAINT workers_ended CHECK ((state IN ('lost', 'gone')) = (ended_at IS NOT NULL))
) WITH (
    fillfactor = 50,
    autovacuum_vacuum_scale_factor = 0.0,
    autovacuum_vacuum_threshold = 1000
);

CREATE TABLE mainspring.handlers (
    tenant text NOT NULL,
    kind text NOT NULL,
    info text NOT NULL,
    declared_at timestamptz NOT NULL,
    CONSTRAINT handlers_pkey PRIMARY KEY (tenant, kind)
);

CREATE TABLE mainspring.submission_keys (
    job_id uuid NOT NULL,
    expires_at timestamptz NOT NULL,
    tenant text NOT NULL,
    key text NOT NULL,
    body_hash bytea,
    CONSTRAINT submission_keys_pkey PRIMARY KEY (tenant, key)
) WITH (
    autovacuum_vacuum_scale_factor = 0.01,
    autovacuum_vacuum_threshold = 5000
);

CREATE INDEX submission_keys_expiry ON mainspring.submission_keys (expires_at);
