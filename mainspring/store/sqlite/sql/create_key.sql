INSERT INTO api_keys (id, tenant, name, scopes, secret_hash, created_at, created_by, expires_at)
VALUES (:id, :tenant, :name, :scopes, :secret_hash, :at, :actor, :expires_at)
ON CONFLICT DO NOTHING
RETURNING id;
