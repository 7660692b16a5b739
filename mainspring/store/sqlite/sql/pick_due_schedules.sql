SELECT id
FROM schedules
WHERE look_at <= :now AND zones <= :zones
ORDER BY look_at
LIMIT :batch_size;
