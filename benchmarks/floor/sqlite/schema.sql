CREATE TABLE jobs (
    id blob NOT NULL PRIMARY KEY,
    created_at integer NOT NULL,
    due_at integer NOT NULL,
    lease_until integer,
    attempt integer NOT NULL DEFAULT 0,
    priority integer NOT NULL,
    state text NOT NULL,
    queue text NOT NULL,
    kind text NOT NULL,
    payload text NOT NULL
) WITHOUT ROWID;

CREATE INDEX jobs_claim ON jobs (queue, priority, due_at, id) WHERE state = 'ready';

CREATE INDEX jobs_leases ON jobs (lease_until) WHERE state = 'running';

CREATE TABLE history (
    id blob NOT NULL,
    created_at integer NOT NULL,
    due_at integer NOT NULL,
    finished_at integer NOT NULL,
    attempt integer NOT NULL,
    priority integer NOT NULL,
    state text NOT NULL,
    queue text NOT NULL,
    kind text NOT NULL,
    payload text NOT NULL
);
