UPDATE api_keys SET ended_at = :at, ended_by = :actor
WHERE id = :id AND ended_at IS NULL
RETURNING name, tenant;
