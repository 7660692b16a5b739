-- Endpoints that are told by webhook. Few rows; read as a whole every few seconds.
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
