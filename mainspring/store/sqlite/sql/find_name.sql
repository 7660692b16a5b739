-- Who has this name, of those that were not removed.
SELECT id
FROM schedules
WHERE tenant = :tenant AND name = :name AND state <> 'deleted';
