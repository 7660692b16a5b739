UPDATE webhooks
SET last_success_at = :now, failing_since = NULL
WHERE
    id = :id
    AND (
        failing_since IS NOT NULL
        OR last_success_at IS NULL
        OR last_success_at <= :now - 1000000
    );
