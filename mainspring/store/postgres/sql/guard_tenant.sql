SELECT
    name, created_at, created_by, note, updated_at, updated_by, suspended_at, suspended_by,
    suspended_reason
FROM mainspring.tenants
WHERE name = :name::text
FOR NO KEY UPDATE;
