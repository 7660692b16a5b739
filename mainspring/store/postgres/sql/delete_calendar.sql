DELETE FROM mainspring.calendars
WHERE tenant = :tenant::text AND name = :name::text
RETURNING version;
