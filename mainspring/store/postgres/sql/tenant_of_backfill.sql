SELECT schedule.tenant
FROM mainspring.backfills AS backfill
INNER JOIN mainspring.schedules AS schedule ON backfill.schedule_id = schedule.id
WHERE backfill.id = :id::uuid;
