-- Closed attempts that were not their job's last, log lines, and who did what.
SET LOCAL lock_timeout = '5s';
SET LOCAL statement_timeout = '10min';

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
