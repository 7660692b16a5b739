UPDATE tenants
SET
    suspended_at = :at,
    suspended_by = :actor,
    suspended_reason = :reason,
    updated_at = :at,
    updated_by = :actor
WHERE name = :name;
