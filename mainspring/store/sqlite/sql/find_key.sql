-- With what its tenant says, so that a credential is checked in one look.
SELECT
    api_keys.id,
    api_keys.name,
    api_keys.tenant,
    api_keys.scopes,
    api_keys.created_at,
    api_keys.created_by,
    api_keys.expires_at,
    api_keys.ended_at,
    api_keys.ended_by,
    api_keys.used_at,
    api_keys.replaced_by,
    CASE
        WHEN api_keys.ended_at IS NOT NULL THEN 'ended'
        WHEN api_keys.expires_at <= :at THEN 'expired'
        ELSE 'active'
    END AS state,
    api_keys.secret_hash,
    (api_keys.expires_at - :at) / 1000 AS left_ms,
    CASE
        WHEN tenants.suspended_at IS NOT NULL THEN coalesce(tenants.suspended_reason, '')
    END AS suspended_reason
FROM api_keys
LEFT JOIN tenants ON api_keys.tenant = tenants.name
WHERE api_keys.id = :id;
