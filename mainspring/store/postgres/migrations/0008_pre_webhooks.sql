-- Endpoints that are told by webhook. Few rows; read as a whole every few seconds.
SET LOCAL lock_timeout = '5s';
SET LOCAL statement_timeout = '10min';

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
