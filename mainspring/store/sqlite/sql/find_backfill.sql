SELECT schedule_id, state, fire_count
FROM backfills
WHERE id = :id;
