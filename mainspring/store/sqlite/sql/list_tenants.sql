SELECT
    name, created_at, created_by, note, updated_at, updated_by, suspended_at, suspended_by,
    suspended_reason
FROM tenants
WHERE :after_name IS NULL OR name > :after_name
ORDER BY name
LIMIT :row_limit;
