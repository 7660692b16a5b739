-- Schedules, what became of their fires, and what they were.

-- At most one such job of a schedule is live.
ALTER TABLE jobs ADD COLUMN alone integer NOT NULL DEFAULT 0 CHECK (alone IN (0, 1));

CREATE UNIQUE INDEX jobs_alone ON jobs (schedule_id)
WHERE alone = 1;

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

-- The ledger. It outlives the jobs and schedules that it tells of.
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

-- What may be taken back.
CREATE INDEX fires_open ON fires (schedule_id, due_at)
WHERE outcome = 'job' AND job_state IS NULL;

CREATE INDEX fires_pointing ON fires (job_id)
WHERE outcome = 'coalesced_into';

CREATE INDEX fires_spans ON fires (schedule_id, through)
WHERE through IS NOT NULL;

-- Failures in a row, and when the exclusive job ended.
CREATE INDEX fires_ended ON fires (schedule_id, job_ended_at)
WHERE job_ended_at IS NOT NULL;

CREATE INDEX fires_succeeded ON fires (schedule_id, nominal_at)
WHERE job_state = 'succeeded';

-- Forgetting goes in this order.
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
