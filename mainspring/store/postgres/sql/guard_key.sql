SELECT id, name, tenant, scopes, expires_at, ended_at, replaced_by
FROM mainspring.api_keys
WHERE id = :id::text
FOR NO KEY UPDATE;
