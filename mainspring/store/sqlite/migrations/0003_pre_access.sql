-- Tenants that can be suspended, API keys, and an audit that says from where and what changed.
ALTER TABLE tenants ADD COLUMN updated_at integer;
ALTER TABLE tenants ADD COLUMN suspended_at integer;
ALTER TABLE tenants ADD COLUMN note text NOT NULL DEFAULT '';
ALTER TABLE tenants ADD COLUMN created_by text NOT NULL DEFAULT '';
ALTER TABLE tenants ADD COLUMN updated_by text;
ALTER TABLE tenants ADD COLUMN suspended_by text;
ALTER TABLE tenants ADD COLUMN suspended_reason text;

-- The default tenant is as old as the store.
UPDATE tenants
SET created_at = coalesce((SELECT min(applied_at) FROM migrations), 0)
WHERE created_at = 0;

-- None is ever deleted: the audit names them.
CREATE TABLE api_keys (
    id text NOT NULL PRIMARY KEY,
    tenant text,
    name text NOT NULL,
    scopes text NOT NULL,
    secret_hash blob NOT NULL,
    created_at integer NOT NULL,
    created_by text NOT NULL,
    expires_at integer,
    ended_at integer,
    ended_by text,
    used_at integer,
    replaced_by text,
    CHECK ((ended_at IS NULL) = (ended_by IS NULL))
) WITHOUT ROWID;

-- The name of a key that was ended or replaced may be given again.
CREATE UNIQUE INDEX api_keys_name ON api_keys (coalesce(tenant, ''), name)
WHERE ended_at IS NULL AND replaced_by IS NULL;
CREATE INDEX api_keys_by_name ON api_keys (name, id);

-- The order of lines that were written at one instant is that of their rows.
ALTER TABLE audit ADD COLUMN tenant text;
ALTER TABLE audit ADD COLUMN source text NOT NULL DEFAULT '';
ALTER TABLE audit ADD COLUMN before_change text;
ALTER TABLE audit ADD COLUMN after_change text;

CREATE INDEX audit_newest ON audit (at);

-- Lines are added, and in the end dropped by age; never changed.
CREATE TRIGGER audit_is_append_only BEFORE UPDATE ON audit
BEGIN
    SELECT raise(ABORT, 'the audit is append-only');
END;
