SELECT
    name, created_at, created_by, note, updated_at, updated_by, suspended_at, suspended_by,
    suspended_reason
FROM mainspring.tenants
WHERE :after_name::text IS null OR name > :after_name::text
ORDER BY name
LIMIT :row_limit::integer;
