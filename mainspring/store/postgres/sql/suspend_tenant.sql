UPDATE mainspring.tenants
SET
    suspended_at = coalesce(:at::timestamptz, statement_timestamp()),
    suspended_by = :actor::text,
    suspended_reason = :reason::text,
    updated_at = coalesce(:at::timestamptz, statement_timestamp()),
    updated_by = :actor::text
WHERE name = :name::text;
