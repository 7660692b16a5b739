SELECT definition
FROM calendars
WHERE tenant = :tenant AND name = :name;
