SELECT look_at
FROM schedules
WHERE look_at IS NOT NULL AND zones <= :zones
ORDER BY look_at
LIMIT 1;
