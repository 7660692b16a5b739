UPDATE tenants SET note = :note, updated_at = :at, updated_by = :actor
WHERE name = :name
RETURNING
    name, created_at, created_by, note, updated_at, updated_by, suspended_at, suspended_by,
    suspended_reason;
