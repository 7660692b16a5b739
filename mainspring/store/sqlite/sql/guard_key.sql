SELECT id, name, tenant, scopes, expires_at, ended_at, replaced_by
FROM api_keys
WHERE id = :id;
