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
    created_at integer NOT NULL,
    updated_at integer,
    suspended_at integer,
    note text NOT NULL DEFAULT '',
    created_by text NOT NULL DEFAULT '',
    updated_by text,
    suspended_by text,
    suspended_reason text
);

-- None is ever deleted: the audit names them.
CREATE TABLE api_keys (
    id text NOT NULL PRIMARY KEY,
    tenant text,
    name text NOT NULL,
    scopes text NOT NULL,
    secret_hash blob NOT NULL,
    created_at integer NOT NULL,
    created_by text NOT NULL,
    expires_at integer,
    ended_at integer,
    ended_by text,
    used_at integer,
    replaced_by text,
    CHECK ((ended_at IS NULL) = (ended_by IS NULL))
) WITHOUT ROWID;

-- The name of a key that was ended or replaced may be given again.
CREATE UNIQUE INDEX api_keys_name ON api_keys (coalesce(tenant, ''), name)
WHERE ended_at IS NULL AND replaced_by IS NULL;
CREATE INDEX api_keys_by_name ON api_keys (name, id);

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
    created_at integer NOT NULL, alone integer NOT NULL DEFAULT 0 CHECK (alone IN (0, 1)),
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

CREATE UNIQUE INDEX jobs_alone ON jobs (schedule_id)
WHERE alone = 1;

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
    tenant text,
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
    detail text NOT NULL DEFAULT '{}',
    tenant text,
    source text NOT NULL DEFAULT '',
    before_change text,
    after_change text
);

CREATE INDEX audit_subject ON audit (subject, at);
CREATE INDEX audit_newest ON audit (at);

-- Lines are added, and in the end dropped by age; never changed.
CREATE TRIGGER audit_is_append_only BEFORE UPDATE ON audit
BEGIN
    SELECT raise(ABORT, 'the audit is append-only');
END;

CREATE TABLE schedules (
    id blob NOT NULL PRIMARY KEY CHECK (length(id) = 16),
    tenant text NOT NULL,
    name text NOT NULL,
    owner text,
    state text NOT NULL CHECK (state IN ('active', 'paused', 'exhausted', 'deleted')),
    version integer NOT NULL CHECK (version >= 1),
    shard integer NOT NULL CHECK (shard BETWEEN 0 AND 255),
    spec text NOT NULL,
    calendars text,
    cursor text NOT NULL,
    -- Year and number of the zone data's release: 202606.
    zones integer NOT NULL,
    look_at integer,
    waiting integer NOT NULL CHECK (waiting IN (0, 1)),
    is_exclusive integer NOT NULL CHECK (is_exclusive IN (0, 1)),
    pause_after integer CHECK (pause_after >= 1),
    -- Failures count from here on.
    watched_from integer NOT NULL,
    paused_at integer,
    paused_by text,
    paused_reason text,
    paused_until integer,
    created_at integer NOT NULL,
    updated_at integer NOT NULL,
    updated_by text NOT NULL
);

CREATE UNIQUE INDEX schedules_name ON schedules (tenant, name)
WHERE state <> 'deleted';

CREATE INDEX schedules_look ON schedules (look_at)
WHERE look_at IS NOT NULL;

CREATE INDEX schedules_waiting ON schedules (id)
WHERE waiting = 1 AND state = 'active';

CREATE TABLE schedule_versions (
    schedule_id blob NOT NULL,
    version integer NOT NULL,
    spec text NOT NULL,
    calendars text,
    zones integer NOT NULL,
    -- In seconds; the fires after it are of this version.
    from_at integer NOT NULL,
    changed_at integer NOT NULL,
    changed_by text NOT NULL,
    change text NOT NULL,
    PRIMARY KEY (schedule_id, version)
) WITHOUT ROWID;

CREATE TABLE fires (
    schedule_id blob NOT NULL,
    nominal_at integer NOT NULL,
    sequence integer NOT NULL,
    outcome text NOT NULL CHECK (
        outcome IN (
            'job', 'backfilled', 'coalesced_into', 'skipped_overlap', 'skipped_misfire',
            'skipped_paused', 'skipped_on_request', 'expired', 'dropped',
            'excluded_by_calendar', 'dst_skipped'
        )
    ),
    cause text NOT NULL CHECK (
        cause IN ('schedule', 'dst_gap', 'catch_up', 'backfill', 'manual')
    ),
    due_at integer NOT NULL,
    decided_at integer NOT NULL,
    version integer NOT NULL,
    through integer,
    fire_count integer,
    job_id blob,
    backfill_id blob,
    local_time text,
    note text,
    missed text,
    job_state text CHECK (
        job_state IN ('succeeded', 'dead', 'cancelled', 'expired', 'skipped')
    ),
    job_ended_at integer,
    -- Its job is, or was, the schedule's exclusive one.
    alone integer NOT NULL DEFAULT 0 CHECK (alone IN (0, 1)),
    -- What a backfill that took it up has to restore when it is cancelled.
    former text,
    CHECK ((job_state IS NULL) = (job_ended_at IS NULL)),
    CHECK (outcome IN ('job', 'backfilled') OR job_state IS NULL),
    PRIMARY KEY (schedule_id, nominal_at, sequence)
) WITHOUT ROWID;

CREATE INDEX fires_open ON fires (schedule_id, due_at)
WHERE outcome = 'job' AND job_state IS NULL;

CREATE INDEX fires_pointing ON fires (job_id)
WHERE outcome = 'coalesced_into';

CREATE INDEX fires_spans ON fires (schedule_id, through)
WHERE through IS NOT NULL;

CREATE INDEX fires_ended ON fires (schedule_id, job_ended_at)
WHERE job_ended_at IS NOT NULL;

CREATE INDEX fires_succeeded ON fires (schedule_id, nominal_at)
WHERE job_state = 'succeeded';

CREATE INDEX fires_decided ON fires (decided_at);

CREATE INDEX fires_waiting ON fires (backfill_id, nominal_at, sequence)
WHERE outcome = 'backfilled' AND job_id IS NULL;

CREATE INDEX fires_released ON fires (backfill_id, job_state)
WHERE backfill_id IS NOT NULL AND job_id IS NOT NULL;

CREATE TABLE calendars (
    tenant text NOT NULL,
    name text NOT NULL,
    definition text NOT NULL,
    version integer NOT NULL,
    updated_at integer NOT NULL,
    updated_by text NOT NULL,
    PRIMARY KEY (tenant, name)
) WITHOUT ROWID;

CREATE TABLE backfills (
    id blob NOT NULL PRIMARY KEY CHECK (length(id) = 16),
    schedule_id blob NOT NULL,
    from_at integer NOT NULL,
    until_at integer NOT NULL,
    fire_order text NOT NULL CHECK (fire_order IN ('oldest', 'newest')),
    concurrency integer NOT NULL CHECK (concurrency >= 1),
    rate integer NOT NULL CHECK (rate >= 1),
    state text NOT NULL CHECK (state IN ('active', 'done', 'cancelled')),
    fire_count integer NOT NULL,
    -- When the newest of its jobs is due.
    released_at integer,
    created_at integer NOT NULL,
    created_by text NOT NULL
);

CREATE INDEX backfills_active ON backfills (created_at, id)
WHERE state = 'active';

CREATE INDEX backfills_schedule ON backfills (schedule_id, created_at, id);

CREATE TABLE webhooks (
    id blob NOT NULL PRIMARY KEY CHECK (length(id) = 16),
    tenant text NOT NULL,
    state text NOT NULL CHECK (state IN ('active', 'disabled')),
    reason text NOT NULL DEFAULT '',
    wanted text NOT NULL,
    secrets text NOT NULL,
    version integer NOT NULL,
    job_id blob,
    created_at integer NOT NULL,
    changed_at integer NOT NULL,
    last_success_at integer,
    last_failure_at integer,
    failing_since integer
);

CREATE INDEX webhooks_tenant ON webhooks (tenant, id);

CREATE INDEX webhooks_job ON webhooks (job_id)
WHERE job_id IS NOT NULL;

CREATE INDEX attempts_ended ON attempts (ended_at);

CREATE TABLE operations (
    id blob NOT NULL PRIMARY KEY CHECK (length(id) = 16),
    tenant text,
    state text NOT NULL CHECK (
        state IN ('previewed', 'running', 'paused', 'done', 'aborted', 'failed')
    ),
    step_at integer NOT NULL,
    ended_at integer,
    record text NOT NULL,
    CHECK ((state IN ('done', 'aborted')) = (ended_at IS NOT NULL))
);

CREATE INDEX operations_running ON operations (step_at)
WHERE state = 'running';

-- How a job stood when it was found, and what became of it.
CREATE TABLE operation_jobs (
    operation_id blob NOT NULL,
    job_id blob NOT NULL,
    state text NOT NULL,
    attempt integer NOT NULL,
    replays integer NOT NULL,
    due_at integer NOT NULL,
    outcome text CHECK (outcome IN ('changed', 'left_alone', 'failed')),
    reason text,
    PRIMARY KEY (operation_id, job_id)
) WITHOUT ROWID;
