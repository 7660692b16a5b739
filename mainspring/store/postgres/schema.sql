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
    updated_at timestamptz,
    suspended_at timestamptz,
    note text NOT NULL DEFAULT '',
    created_by text NOT NULL DEFAULT '',
    updated_by text,
    suspended_by text,
    suspended_reason text,
    CONSTRAINT tenants_pkey PRIMARY KEY (name)
);

INSERT INTO mainspring.tenants (name, created_at) VALUES ('default', statement_timestamp());

-- None is ever deleted: the audit names them.
CREATE TABLE mainspring.api_keys (
    created_at timestamptz NOT NULL,
    expires_at timestamptz,
    ended_at timestamptz,
    used_at timestamptz,
    id text NOT NULL,
    tenant text,
    name text NOT NULL,
    scopes text NOT NULL,
    secret_hash bytea NOT NULL,
    created_by text NOT NULL,
    ended_by text,
    replaced_by text,
    CONSTRAINT api_keys_pkey PRIMARY KEY (id),
    CONSTRAINT api_keys_ended CHECK ((ended_at IS NULL) = (ended_by IS NULL))
) WITH (
    -- Rewritten when a key is used, a minute apart at most.
    fillfactor = 70,
    autovacuum_vacuum_scale_factor = 0.0,
    autovacuum_vacuum_threshold = 1000
);

-- The name of a key that was ended or replaced may be given again.
CREATE UNIQUE INDEX api_keys_name ON mainspring.api_keys (coalesce(tenant, ''), name)
WHERE ended_at IS NULL AND replaced_by IS NULL;
CREATE INDEX api_keys_by_name ON mainspring.api_keys (name, id);

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
    alone boolean NOT NULL DEFAULT false,
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

-- The order of lines that were written at one instant.
CREATE SEQUENCE mainspring.audit_number;

CREATE TABLE mainspring.audit (
    at timestamptz NOT NULL,
    actor text NOT NULL,
    action text NOT NULL,
    subject text NOT NULL,
    detail text NOT NULL,
    number bigint NOT NULL DEFAULT nextval('mainspring.audit_number'),
    tenant text,
    source text NOT NULL DEFAULT '',
    before_change text,
    after_change text
) PARTITION BY RANGE (at);

CREATE INDEX audit_subject ON mainspring.audit (subject, at);
CREATE INDEX audit_newest ON mainspring.audit (at, number);
CREATE INDEX audit_tenant ON mainspring.audit (tenant, at, number);

-- Lines are added, and in the end dropped by age; never changed.
CREATE FUNCTION mainspring.refuse_rewriting() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    RAISE EXCEPTION 'the audit is append-only';
END
$$;

CREATE TRIGGER audit_is_append_only BEFORE UPDATE ON mainspring.audit
FOR EACH ROW EXECUTE FUNCTION mainspring.refuse_rewriting();

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
    tenant text,
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

-- Schedules, what they were, what became of their fires, calendars and backfills.

-- At most one job that must be alone is live a schedule. Jobs without one are not in here.
CREATE UNIQUE INDEX jobs_alone ON mainspring.jobs (schedule_id) WHERE alone;

CREATE TABLE mainspring.schedules (
    id uuid NOT NULL,
    created_at timestamptz NOT NULL,
    updated_at timestamptz NOT NULL,
    watched_from timestamptz NOT NULL,
    look_at timestamptz,
    paused_at timestamptz,
    paused_until timestamptz,
    version integer NOT NULL,
    zones integer NOT NULL,
    pause_after integer,
    shard smallint NOT NULL,
    waiting boolean NOT NULL DEFAULT false,
    is_exclusive boolean NOT NULL,
    state text NOT NULL,
    tenant text NOT NULL,
    name text NOT NULL,
    owner text,
    spec text NOT NULL,
    calendars text,
    cursor text NOT NULL,
    updated_by text NOT NULL,
    paused_by text,
    paused_reason text,
    CONSTRAINT schedules_pkey PRIMARY KEY (id),
    CONSTRAINT schedules_state_is_known CHECK (
        state IN ('active', 'paused', 'exhausted', 'deleted')
    ),
    CONSTRAINT schedules_shard CHECK (shard BETWEEN 0 AND 255),
    CONSTRAINT schedules_version CHECK (version > 0)
) WITH (
    fillfactor = 85,
    autovacuum_vacuum_scale_factor = 0.02,
    autovacuum_vacuum_threshold = 1000
);

-- The name of a schedule that was removed may be given again.
CREATE UNIQUE INDEX schedules_name ON mainspring.schedules (tenant, name)
WHERE state <> 'deleted';

-- The zone data stands in the key, so that an older scheduler passes over the rows of a newer one
-- inside the index.
CREATE INDEX schedules_look ON mainspring.schedules (look_at, zones) WHERE look_at IS NOT NULL;

CREATE INDEX schedules_waiting ON mainspring.schedules (id, zones)
WHERE waiting AND state = 'active';

CREATE TABLE mainspring.schedule_versions (
    schedule_id uuid NOT NULL,
    from_at timestamptz NOT NULL,
    changed_at timestamptz NOT NULL,
    version integer NOT NULL,
    zones integer NOT NULL,
    spec text NOT NULL,
    calendars text,
    changed_by text NOT NULL,
    change text NOT NULL,
    CONSTRAINT schedule_versions_pkey PRIMARY KEY (schedule_id, version)
);

-- The ledger. It stays when its schedule goes, so nothing refers to anything.
CREATE TABLE mainspring.fires (
    schedule_id uuid NOT NULL,
    nominal_at timestamptz NOT NULL,
    due_at timestamptz NOT NULL,
    decided_at timestamptz NOT NULL,
    through timestamptz,
    job_ended_at timestamptz,
    job_id uuid,
    backfill_id uuid,
    sequence integer NOT NULL,
    version integer NOT NULL,
    fire_count integer,
    alone boolean NOT NULL DEFAULT false,
    outcome text NOT NULL,
    cause text NOT NULL,
    wall_time text,
    note text,
    missed text,
    job_state text,
    former text,
    CONSTRAINT fires_pkey PRIMARY KEY (schedule_id, nominal_at, sequence),
    CONSTRAINT fires_outcome_is_known CHECK (
        outcome IN (
            'job', 'backfilled', 'coalesced_into', 'skipped_overlap', 'skipped_misfire',
            'skipped_paused', 'skipped_on_request', 'expired', 'dropped',
            'excluded_by_calendar', 'dst_skipped'
        )
    ),
    CONSTRAINT fires_cause_is_known CHECK (
        cause IN ('schedule', 'dst_gap', 'catch_up', 'backfill', 'manual')
    ),
    CONSTRAINT fires_job_is_final CHECK (
        job_state IN ('succeeded', 'dead', 'cancelled', 'expired', 'skipped')
    ),
    CONSTRAINT fires_ended CHECK ((job_state IS NULL) = (job_ended_at IS NULL))
) WITH (
    autovacuum_vacuum_scale_factor = 0.02,
    autovacuum_vacuum_threshold = 5000
);

-- By age, for the retention.
CREATE INDEX fires_decided ON mainspring.fires (decided_at);

-- How the jobs of a schedule ended, newest first; and when it last succeeded.
CREATE INDEX fires_ended ON mainspring.fires (schedule_id, job_ended_at)
WHERE job_ended_at IS NOT NULL;
CREATE INDEX fires_succeeded ON mainspring.fires (schedule_id, nominal_at)
WHERE job_state = 'succeeded';

-- Rows that stand for several fires, by where they end; rows that point to the job of another.
CREATE INDEX fires_spans ON mainspring.fires (schedule_id, through) WHERE through IS NOT NULL;
CREATE INDEX fires_coalesced ON mainspring.fires (job_id) WHERE outcome = 'coalesced_into';

-- The rows of a backfill: all, those without a job so far, and those whose job is live.
CREATE INDEX fires_backfilled ON mainspring.fires (backfill_id) WHERE backfill_id IS NOT NULL;
CREATE INDEX fires_backfill_waiting ON mainspring.fires (backfill_id, nominal_at, sequence)
WHERE backfill_id IS NOT NULL AND job_id IS NULL;
CREATE INDEX fires_backfill_live ON mainspring.fires (backfill_id)
WHERE backfill_id IS NOT NULL AND job_id IS NOT NULL AND job_state IS NULL;

CREATE TABLE mainspring.calendars (
    tenant text NOT NULL,
    name text NOT NULL,
    updated_at timestamptz NOT NULL,
    version integer NOT NULL,
    definition text NOT NULL,
    updated_by text NOT NULL,
    CONSTRAINT calendars_pkey PRIMARY KEY (tenant, name)
);

CREATE TABLE mainspring.backfills (
    id uuid NOT NULL,
    schedule_id uuid NOT NULL,
    created_at timestamptz NOT NULL,
    from_at timestamptz NOT NULL,
    until_at timestamptz NOT NULL,
    released_at timestamptz,
    fires integer NOT NULL,
    concurrency integer NOT NULL,
    rate integer NOT NULL,
    direction text NOT NULL,
    state text NOT NULL,
    created_by text NOT NULL,
    CONSTRAINT backfills_pkey PRIMARY KEY (id),
    CONSTRAINT backfills_direction_is_known CHECK (direction IN ('oldest', 'newest')),
    CONSTRAINT backfills_state_is_known CHECK (state IN ('active', 'done', 'cancelled')),
    CONSTRAINT backfills_bounds CHECK (concurrency > 0 AND rate > 0)
);

CREATE INDEX backfills_schedule ON mainspring.backfills (schedule_id, id);
CREATE INDEX backfills_active ON mainspring.backfills (id) WHERE state = 'active';

CREATE TABLE mainspring.webhooks (
    id uuid NOT NULL,
    job_id uuid,
    created_at timestamptz NOT NULL,
    changed_at timestamptz NOT NULL,
    last_success_at timestamptz,
    last_failure_at timestamptz,
    failing_since timestamptz,
    version integer NOT NULL,
    tenant text NOT NULL,
    state text NOT NULL,
    reason text NOT NULL DEFAULT '',
    wanted text NOT NULL,
    secrets text NOT NULL,
    CONSTRAINT webhooks_pkey PRIMARY KEY (id),
    CONSTRAINT webhooks_state_is_known CHECK (state IN ('active', 'disabled'))
) WITH (fillfactor = 70);

CREATE INDEX webhooks_tenant ON mainspring.webhooks (tenant, id);
CREATE INDEX webhooks_job ON mainspring.webhooks (job_id) WHERE job_id IS NOT NULL;

CREATE INDEX jobs_history_by_time ON mainspring.jobs_history
USING brin (finished_at) WITH (pages_per_range = 32, autosummarize = on);
CREATE INDEX attempts_by_time ON mainspring.attempts
USING brin (ended_at) WITH (pages_per_range = 32, autosummarize = on);

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

-- The second wall between tenants: whoever acts as the role mainspring_tenant sees and writes what
-- is the tenant's that the setting mainspring.tenant names, and without a setting nothing. The
-- owner of the tables is not concerned, and any other role goes by its grants as before.

ALTER TABLE mainspring.jobs ENABLE ROW LEVEL SECURITY;
CREATE POLICY tenants_apart ON mainspring.jobs USING (
    current_user <> 'mainspring_tenant'
    OR tenant = current_setting('mainspring.tenant', true)
);

ALTER TABLE mainspring.jobs_history ENABLE ROW LEVEL SECURITY;
CREATE POLICY tenants_apart ON mainspring.jobs_history USING (
    current_user <> 'mainspring_tenant'
    OR tenant = current_setting('mainspring.tenant', true)
);

ALTER TABLE mainspring.attempts ENABLE ROW LEVEL SECURITY;
CREATE POLICY tenants_apart ON mainspring.attempts USING (
    current_user <> 'mainspring_tenant'
    OR tenant = current_setting('mainspring.tenant', true)
);

ALTER TABLE mainspring.submission_keys ENABLE ROW LEVEL SECURITY;
CREATE POLICY tenants_apart ON mainspring.submission_keys USING (
    current_user <> 'mainspring_tenant'
    OR tenant = current_setting('mainspring.tenant', true)
);

ALTER TABLE mainspring.schedules ENABLE ROW LEVEL SECURITY;
CREATE POLICY tenants_apart ON mainspring.schedules USING (
    current_user <> 'mainspring_tenant'
    OR tenant = current_setting('mainspring.tenant', true)
);

ALTER TABLE mainspring.calendars ENABLE ROW LEVEL SECURITY;
CREATE POLICY tenants_apart ON mainspring.calendars USING (
    current_user <> 'mainspring_tenant'
    OR tenant = current_setting('mainspring.tenant', true)
);

ALTER TABLE mainspring.workers ENABLE ROW LEVEL SECURITY;
CREATE POLICY tenants_apart ON mainspring.workers USING (
    current_user <> 'mainspring_tenant'
    OR tenant = current_setting('mainspring.tenant', true)
);

-- Kinds of workers that are bound to no tenant are known to all.
ALTER TABLE mainspring.handlers ENABLE ROW LEVEL SECURITY;
CREATE POLICY tenants_apart ON mainspring.handlers USING (
    current_user <> 'mainspring_tenant'
    OR tenant IN (current_setting('mainspring.tenant', true), 'default')
);

-- These are seen with the job or the schedule that they belong to: its own policy decides.
ALTER TABLE mainspring.job_logs ENABLE ROW LEVEL SECURITY;
CREATE POLICY tenants_apart ON mainspring.job_logs USING (
    current_user <> 'mainspring_tenant'
    OR EXISTS (SELECT FROM mainspring.jobs AS live WHERE live.id = job_logs.job_id)
    OR EXISTS (SELECT FROM mainspring.jobs_history AS final WHERE final.id = job_logs.job_id)
);

ALTER TABLE mainspring.schedule_versions ENABLE ROW LEVEL SECURITY;
CREATE POLICY tenants_apart ON mainspring.schedule_versions USING (
    current_user <> 'mainspring_tenant'
    OR EXISTS (
        SELECT FROM mainspring.schedules AS owner WHERE owner.id = schedule_versions.schedule_id
    )
);

ALTER TABLE mainspring.fires ENABLE ROW LEVEL SECURITY;
CREATE POLICY tenants_apart ON mainspring.fires USING (
    current_user <> 'mainspring_tenant'
    OR EXISTS (
        SELECT FROM mainspring.schedules AS owner WHERE owner.id = fires.schedule_id
    )
);

ALTER TABLE mainspring.backfills ENABLE ROW LEVEL SECURITY;
CREATE POLICY tenants_apart ON mainspring.backfills USING (
    current_user <> 'mainspring_tenant'
    OR EXISTS (
        SELECT FROM mainspring.schedules AS owner WHERE owner.id = backfills.schedule_id
    )
);

-- Operations of one tenant, and the jobs that they are about; see the walls between tenants.
ALTER TABLE mainspring.operations ENABLE ROW LEVEL SECURITY;
CREATE POLICY tenants_apart ON mainspring.operations USING (
    current_user <> 'mainspring_tenant'
    OR tenant = current_setting('mainspring.tenant', true)
);

ALTER TABLE mainspring.operation_jobs ENABLE ROW LEVEL SECURITY;
CREATE POLICY tenants_apart ON mainspring.operation_jobs USING (
    current_user <> 'mainspring_tenant'
    OR EXISTS (
        SELECT FROM mainspring.operations AS owner WHERE owner.id = operation_jobs.operation_id
    )
);

-- Lines of the audit are written behind the wall, and never read there.
ALTER TABLE mainspring.audit ENABLE ROW LEVEL SECURITY;
CREATE POLICY tenants_apart ON mainspring.audit USING (
    current_user <> 'mainspring_tenant'
    OR tenant = current_setting('mainspring.tenant', true)
);
