-- The whole schema, as all migrations together leave it. A test holds the two equal.

PRAGMA application_id = 1297305682;

CREATE TABLE migrations (
    name text NOT NULL PRIMARY KEY,
    checksum text NOT NULL,
    applied_at integer NOT NULL,
    by_version text NOT NULL
);

CREATE TABLE tenants (
    name text NOT NULL PRIMARY KEY,
    created_at integer NOT NULL
);

CREATE TABLE jobs (
    id blob NOT NULL PRIMARY KEY CHECK (length(id) = 16),
    tenant text NOT NULL DEFAULT 'default',
    queue text NOT NULL DEFAULT 'default',
    kind text NOT NULL,
    priority integer NOT NULL DEFAULT 2 CHECK (priority BETWEEN 0 AND 3),
    state text NOT NULL CHECK (
        state IN ('blocked', 'scheduled', 'ready', 'running', 'retrying', 'cancelling')
    ),
    due_at integer NOT NULL,
    attempt integer NOT NULL DEFAULT 0 CHECK (attempt >= 0),
    tries integer NOT NULL DEFAULT 0 CHECK (tries >= 0),
    crashes integer NOT NULL DEFAULT 0 CHECK (crashes >= 0),
    max_attempts integer NOT NULL DEFAULT 5 CHECK (max_attempts >= 1),
    max_crashes integer NOT NULL DEFAULT 3 CHECK (max_crashes >= 1),
    timeout_ms integer NOT NULL DEFAULT 300000 CHECK (timeout_ms >= 0),
    worker_id blob,
    child integer,
    started_at integer,
    deadline_at integer,
    blocked_reason text,
    waiting_parents integer NOT NULL DEFAULT 0 CHECK (waiting_parents >= 0),
    dag_run_id blob,
    schedule_id blob,
    nominal_at integer,
    payload text NOT NULL DEFAULT '{}',
    payload_ref text,
    backoff text,
    on_exhausted text,
    effect_key text,
    submission_key text,
    unique_key text,
    unique_while text CHECK (unique_while IN ('live', 'waiting')),
    reason text,
    error text,
    error_group text,
    replays integer NOT NULL DEFAULT 0,
    progress_done real,
    progress_total real,
    progress_note text,
    created_at integer NOT NULL,
    -- Exactly the held rows name a worker.
    CHECK ((state IN ('running', 'cancelling')) = (worker_id IS NOT NULL)),
    CHECK ((worker_id IS NULL) = (started_at IS NULL)),
    CHECK ((worker_id IS NULL) = (deadline_at IS NULL)),
    CHECK ((state = 'blocked') = (blocked_reason IS NOT NULL)),
    CHECK ((unique_key IS NULL) = (unique_while IS NULL))
);

CREATE INDEX jobs_claim ON jobs (queue, priority, due_at, id)
WHERE state IN ('scheduled', 'ready', 'retrying');

CREATE INDEX jobs_held ON jobs (worker_id, deadline_at)
WHERE state IN ('running', 'cancelling');

CREATE UNIQUE INDEX jobs_unique ON jobs (tenant, unique_key, unique_while)
WHERE unique_key IS NOT NULL AND (unique_while = 'live' OR attempt = 0);

CREATE TABLE jobs_history (
    id blob NOT NULL PRIMARY KEY,
    tenant text NOT NULL,
    queue text NOT NULL,
    kind text NOT NULL,
    priority integer NOT NULL,
    state text NOT NULL CHECK (
        state IN ('succeeded', 'dead', 'cancelled', 'expired', 'skipped')
    ),
    due_at integer NOT NULL,
    attempt integer NOT NULL,
    tries integer NOT NULL,
    crashes integer NOT NULL,
    max_attempts integer NOT NULL,
    max_crashes integer NOT NULL,
    timeout_ms integer NOT NULL,
    worker_id blob,
    child integer,
    started_at integer,
    attempt_state text CHECK (
        attempt_state IN ('succeeded', 'failed', 'timed_out', 'lost', 'cancelled', 'released')
    ),
    dag_run_id blob,
    schedule_id blob,
    nominal_at integer,
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
    replays integer NOT NULL,
    progress_done real,
    progress_total real,
    progress_note text,
    created_at integer NOT NULL,
    finished_at integer NOT NULL,
    result text,
    result_ref text,
    CHECK ((attempt_state IS NULL) = (started_at IS NULL))
);

CREATE INDEX jobs_history_finished ON jobs_history (state, finished_at);

CREATE INDEX jobs_history_unsuccessful ON jobs_history (state, id)
WHERE state <> 'succeeded';

CREATE INDEX jobs_history_failures ON jobs_history (finished_at)
WHERE error_group IS NOT NULL;

CREATE TABLE attempts (
    job_id blob NOT NULL,
    attempt integer NOT NULL,
    tenant text NOT NULL,
    state text NOT NULL CHECK (
        state IN ('succeeded', 'failed', 'timed_out', 'lost', 'cancelled', 'released')
    ),
    worker_id blob,
    child integer,
    started_at integer NOT NULL,
    ended_at integer NOT NULL,
    reason text,
    error text,
    PRIMARY KEY (job_id, attempt)
);

CREATE TABLE workers (
    id blob NOT NULL PRIMARY KEY CHECK (length(id) = 16),
    name text NOT NULL,
    host text NOT NULL,
    pid integer NOT NULL,
    version text NOT NULL,
    queues text NOT NULL,
    kinds text NOT NULL,
    state text NOT NULL CHECK (state IN ('alive', 'draining', 'lost', 'gone')),
    drain_asked integer NOT NULL DEFAULT 0 CHECK (drain_asked IN (0, 1)),
    lease_ms integer NOT NULL,
    started_at integer NOT NULL,
    beat_at integer NOT NULL,
    lease_until integer NOT NULL,
    ended_at integer,
    CHECK ((state IN ('lost', 'gone')) = (ended_at IS NOT NULL))
);

CREATE TABLE handlers (
    tenant text NOT NULL,
    kind text NOT NULL,
    info text NOT NULL,
    declared_at integer NOT NULL,
    PRIMARY KEY (tenant, kind)
);

CREATE TABLE queues (
    name text NOT NULL PRIMARY KEY,
    paused_at integer,
    paused_reason text,
    paused_by text
);

CREATE TABLE submission_keys (
    tenant text NOT NULL,
    key text NOT NULL,
    job_id blob NOT NULL,
    -- Hexadecimal.
    body_hash text,
    expires_at integer NOT NULL,
    PRIMARY KEY (tenant, key)
) WITHOUT ROWID;

CREATE INDEX submission_keys_expiry ON submission_keys (expires_at);

CREATE TABLE job_logs (
    job_id blob NOT NULL,
    attempt integer NOT NULL,
    sequence integer NOT NULL,
    at integer NOT NULL,
    level text NOT NULL,
    message text NOT NULL,
    fields text NOT NULL DEFAULT '',
    PRIMARY KEY (job_id, attempt, sequence)
);

CREATE TABLE audit (
    at integer NOT NULL,
    actor text NOT NULL,
    action text NOT NULL,
    subject text NOT NULL,
    detail text NOT NULL DEFAULT '{}'
);

CREATE INDEX audit_subject ON audit (subject, at);
