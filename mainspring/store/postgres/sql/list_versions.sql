SELECT
    schedule_id, version, spec, zones, extract(EPOCH FROM from_at)::bigint AS from_at, changed_at,
    changed_by, change, calendars
FROM mainspring.schedule_versions
WHERE schedule_id = :id::uuid
ORDER BY version;
