UPDATE mainspring.tenants
SET
    suspended_at = null,
    suspended_by = null,
    suspended_reason = null,
    updated_at = coalesce(:at::timestamptz, statement_timestamp()),
    updated_by = :actor::text
WHERE name = :name::text;
