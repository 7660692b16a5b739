SELECT
    id, tenant, wanted, state, version, created_at, changed_at, reason, last_success_at,
    last_failure_at, failing_since
FROM mainspring.webhooks
WHERE
    (:tenant::text IS null OR tenant = :tenant::text)
    AND (:after_id::uuid IS null OR id > :after_id::uuid)
ORDER BY id
LIMIT :row_limit::integer;
