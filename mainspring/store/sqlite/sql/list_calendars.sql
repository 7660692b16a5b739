SELECT name, definition, version, updated_at, updated_by
FROM calendars
WHERE tenant = :tenant
ORDER BY name;
