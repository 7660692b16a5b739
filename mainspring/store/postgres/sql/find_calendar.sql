SELECT definition, version
FROM mainspring.calendars
WHERE tenant = :tenant::text AND name = :name::text
FOR NO KEY UPDATE;
