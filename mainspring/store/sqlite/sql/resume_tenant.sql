UPDATE tenants
SET
    suspended_at = NULL,
    suspended_by = NULL,
    suspended_reason = NULL,
    updated_at = :at,
    updated_by = :actor
WHERE name = :name;
