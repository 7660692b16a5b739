SELECT
    id, tenant, name, state, version, spec, cursor, zones, created_at, updated_at, updated_by,
    owner, calendars, look_at, waiting, paused_at, paused_by, paused_reason, paused_until
FROM mainspring.schedules
WHERE id = :id::uuid;
