SELECT
    id, tenant, name, state, version, spec, cursor, zones, created_at, updated_at, updated_by,
    owner, calendars, look_at, waiting, paused_at, paused_by, paused_reason, paused_until
FROM schedules
WHERE
    id > :after_id
    AND (:tenant IS NULL OR tenant = :tenant)
    AND (:owner IS NULL OR owner = :owner)
    AND (:name_has IS NULL OR instr(name, :name_has) > 0)
    AND (:zones_before IS NULL OR zones < :zones_before)
    AND (:zones_after IS NULL OR zones > :zones_after)
    AND (:with_deleted OR state <> 'deleted')
    AND (:states IS NULL OR state IN (SELECT wanted.value FROM json_each(:states) AS wanted))
    AND (
        :calendar IS NULL
        OR EXISTS (
            SELECT 1
            FROM json_each(schedules.calendars) AS heeded
            WHERE json_extract(heeded.value, '$.name') = :calendar
        )
    )
ORDER BY id
LIMIT :page_size;
