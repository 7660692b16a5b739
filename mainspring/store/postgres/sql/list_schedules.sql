-- Oldest first. What is not wanted in particular admits everything.
SELECT
    id, tenant, name, state, version, spec, cursor, zones, created_at, updated_at, updated_by,
    owner, calendars, look_at, waiting, paused_at, paused_by, paused_reason, paused_until
FROM mainspring.schedules AS schedule
WHERE
    (:after::uuid IS null OR id > :after::uuid)
    AND (:with_deleted::boolean OR :states::text[] IS NOT null OR state <> 'deleted')
    AND (:states::text[] IS null OR state = any(:states::text[]))
    AND (:tenant::text IS null OR tenant = :tenant::text)
    AND (:owner::text IS null OR owner = :owner::text)
    AND (:name_has::text IS null OR strpos(name, :name_has::text) > 0)
    AND (:zones_before::integer IS null OR zones < :zones_before::integer)
    AND (:zones_after::integer IS null OR zones > :zones_after::integer)
    AND (
        :calendar::text IS null
        OR EXISTS (
            SELECT FROM json_array_elements(schedule.calendars::json) AS heeded (definition)
            WHERE heeded.definition ->> 'name' = :calendar::text
        )
    )
ORDER BY id
LIMIT :row_limit::integer;
