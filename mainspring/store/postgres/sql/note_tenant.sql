UPDATE mainspring.tenants
SET
    note = :note::text,
    updated_at = coalesce(:at::timestamptz, statement_timestamp()),
    updated_by = :actor::text
WHERE name = :name::text
RETURNING
    name, created_at, created_by, note, updated_at, updated_by, suspended_at, suspended_by,
    suspended_reason;
