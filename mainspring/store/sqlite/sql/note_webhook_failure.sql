UPDATE webhooks
SET last_failure_at = :now, failing_since = coalesce(failing_since, :now)
WHERE
    id = :id
    AND (
        last_failure_at IS NULL
        OR failing_since IS NULL
        OR last_failure_at <= :now - 1000000
    );
