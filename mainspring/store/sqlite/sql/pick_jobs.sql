-- What one lane may run now at one priority, in order.
SELECT
    json_group_array(
        json_array(
            hex(id), attempt, kind, tenant, payload, payload_ref, tries, crashes, max_attempts,
            max_crashes, backoff, timeout_ms, due_at, effect_key, on_exhausted, created_at,
            hex(schedule_id), nominal_at
        )
    )
FROM (
    SELECT
        id, attempt, kind, tenant, payload, payload_ref, tries, crashes, max_attempts,
        max_crashes, backoff, timeout_ms, due_at, effect_key, on_exhausted, created_at,
        schedule_id, nominal_at
    FROM jobs
    WHERE
        queue = :queue
        AND priority = :priority
        AND state IN ('scheduled', 'ready', 'retrying')
        AND due_at >= :since
        AND due_at <= :now
        AND kind IN (SELECT declared.value FROM json_each(:kinds) AS declared)
        AND (:tenant IS NULL OR tenant = :tenant)
    ORDER BY due_at, id
    LIMIT :want
);
