SELECT
    id, tenant, wanted, state, version, created_at, changed_at, reason, last_success_at,
    last_failure_at, failing_since, secrets
FROM mainspring.webhooks
WHERE id = :id::uuid;
