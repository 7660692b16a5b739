UPDATE mainspring.operations
SET
    state = :state::text,
    step_at = :step_at::timestamptz,
    ended_at = :ended_at::timestamptz,
    record = :record::text
WHERE id = :id::uuid;
