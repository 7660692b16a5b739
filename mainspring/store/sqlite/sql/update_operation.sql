UPDATE operations
SET state = :state, step_at = :step_at, ended_at = :ended_at, record = :record
WHERE id = :id;
