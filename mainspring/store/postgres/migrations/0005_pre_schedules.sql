-- Schedules, what they were, what became of their fires, calendars and backfills.
SET LOCAL lock_timeout = '5s';
SET LOCAL statement_timeout = '10min';

ALTER TABLE mainspring.jobs ADD COLUMN alone boolean NOT NULL DEFAULT false;

-- At most one job that must be alone is live a schedule. Jobs without one are not in here.
-- Live rows are few and none of them is alone so far: writers wait for one look at the table.
-- squawk-ignore require-concurrent-index-creation
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
