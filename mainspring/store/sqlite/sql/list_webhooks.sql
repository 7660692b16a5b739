SELECT
    id, tenant, wanted, state, version, created_at, changed_at, reason, last_success_at,
    last_failure_at, failing_since
FROM webhooks
WHERE
    (:tenant IS NULL OR tenant = :tenant)
    AND id > :after_id
ORDER BY id
LIMIT :page_size;
