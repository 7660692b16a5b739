-- As guard_named, but nobody is held or waited for.
SELECT
    id, tenant, name, state, version, spec, cursor, zones, calendars, waiting, paused_until,
    watched_from, pause_after
FROM mainspring.schedules
WHERE id = any(:ids::uuid[]);
