SELECT version, spec, calendars, zones, from_at, changed_at, changed_by, change
FROM schedule_versions
WHERE schedule_id = :id
ORDER BY version;
