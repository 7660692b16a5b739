-- The least that is a durable queue: a row a job, two partial indexes, and a table of what is over.
CREATE TABLE jobs (
    id uuid PRIMARY KEY,
    created_at timestamptz NOT NULL,
    due_at timestamptz NOT NULL,
    lease_until timestamptz,
    attempt integer NOT NULL DEFAULT 0,
    priority smallint NOT NULL,
    state text NOT NULL,
    queue text NOT NULL,
    kind text NOT NULL,
    payload text NOT NULL
) WITH (
    autovacuum_vacuum_scale_factor = 0.0,
    autovacuum_vacuum_threshold = 5000,
    autovacuum_vacuum_cost_delay = 0
);

CREATE INDEX jobs_claim ON jobs (queue, priority, due_at, id) WHERE state = 'ready';

CREATE INDEX jobs_leases ON jobs (lease_until) WHERE state = 'running';

CREATE TABLE history (
    id uuid NOT NULL,
    created_at timestamptz NOT NULL,
    due_at timestamptz NOT NULL,
    finished_at timestamptz NOT NULL,
    attempt integer NOT NULL,
    priority smallint NOT NULL,
    state text NOT NULL,
    queue text NOT NULL,
    kind text NOT NULL,
    payload text NOT NULL
);
