-- The oldest jobs of a state that ended before the retention begins.
SELECT json_group_array(json_array(hex(id), payload_ref, result_ref))
FROM (
    SELECT id, payload_ref, result_ref
    FROM jobs_history
    WHERE state = :state AND finished_at < :finished_before
    ORDER BY finished_at
    LIMIT :batch_size
);
