-- In the order of their ids, waiting for whoever holds one.
SELECT
    id, tenant, name, state, version, spec, cursor, zones, calendars, waiting, paused_until,
    watched_from, pause_after
FROM mainspring.schedules
WHERE id = any(:ids::uuid[])
ORDER BY id
FOR NO KEY UPDATE;
