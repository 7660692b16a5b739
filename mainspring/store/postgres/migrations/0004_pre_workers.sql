-- Worker sessions (one row a session, rewritten with every beat), what they can do, and keys.
SET LOCAL lock_timeout = '5s';
SET LOCAL statement_timeout = '10min';

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
