UPDATE schedules
SET updated_at = :now, updated_by = :actor
WHERE id = :id;
