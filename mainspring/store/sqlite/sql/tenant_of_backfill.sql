SELECT schedules.tenant
FROM backfills
INNER JOIN schedules ON backfills.schedule_id = schedules.id
WHERE backfills.id = :id;
