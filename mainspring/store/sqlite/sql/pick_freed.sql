-- Schedules whose waiting is over.
SELECT schedules.id
FROM schedules
WHERE
    schedules.waiting = 1
    AND schedules.state = 'active'
    AND schedules.zones <= :zones
    AND NOT EXISTS (
        SELECT 1 FROM jobs
        WHERE jobs.schedule_id = schedules.id AND jobs.alone = 1
    )
ORDER BY schedules.id
LIMIT :batch_size;
