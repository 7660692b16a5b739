SELECT tenant, name, definition, version, updated_at, updated_by
FROM mainspring.calendars
WHERE tenant = :tenant::text
ORDER BY name;
