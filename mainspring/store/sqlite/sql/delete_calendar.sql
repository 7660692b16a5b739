DELETE FROM calendars
WHERE tenant = :tenant AND name = :name;
