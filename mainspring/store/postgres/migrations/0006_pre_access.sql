-- Tenants that can be suspended, API keys, and an audit that says from where and what changed.
SET LOCAL lock_timeout = '5s';
SET LOCAL statement_timeout = '10min';

ALTER TABLE mainspring.tenants
ADD COLUMN updated_at timestamptz,
ADD COLUMN suspended_at timestamptz,
ADD COLUMN note text NOT NULL DEFAULT '',
ADD COLUMN created_by text NOT NULL DEFAULT '',
ADD COLUMN updated_by text,
ADD COLUMN suspended_by text,
ADD COLUMN suspended_reason text;

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

-- The order of lines that were written at one instant.
CREATE SEQUENCE mainspring.audit_number;

-- The audit has few rows, and nothing hot waits for it.
ALTER TABLE mainspring.audit
-- squawk-ignore adding-field-with-default
ADD COLUMN number bigint NOT NULL DEFAULT nextval('mainspring.audit_number'),
ADD COLUMN tenant text,
ADD COLUMN source text NOT NULL DEFAULT '',
ADD COLUMN before_change text,
ADD COLUMN after_change text;

-- squawk-ignore require-concurrent-index-creation
CREATE INDEX audit_newest ON mainspring.audit (at, number);
-- squawk-ignore require-concurrent-index-creation
CREATE INDEX audit_tenant ON mainspring.audit (tenant, at, number);

-- Lines are added, and in the end dropped by age; never changed.
CREATE FUNCTION mainspring.refuse_rewriting() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    RAISE EXCEPTION 'the audit is append-only';
END
$$;

CREATE TRIGGER audit_is_append_only BEFORE UPDATE ON mainspring.audit
FOR EACH ROW EXECUTE FUNCTION mainspring.refuse_rewriting();
