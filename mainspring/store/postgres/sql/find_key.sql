-- With what its tenant says, so that a credential is checked in one look.
SELECT
    api_key.id, api_key.name, api_key.tenant, api_key.scopes, api_key.created_at,
    api_key.created_by, api_key.expires_at, api_key.ended_at, api_key.ended_by, api_key.used_at,
    api_key.replaced_by,
    CASE
        WHEN api_key.ended_at IS NOT null THEN 'ended'
        WHEN api_key.expires_at <= coalesce(:at::timestamptz, statement_timestamp()) THEN 'expired'
        ELSE 'active'
    END AS state,
    api_key.secret_hash,
    floor(
        extract(
            EPOCH FROM api_key.expires_at - coalesce(:at::timestamptz, statement_timestamp())
        ) * 1000
    )::bigint AS left_ms,
    CASE
        WHEN tenant.suspended_at IS NOT null THEN coalesce(tenant.suspended_reason, '')
    END AS suspended_reason
FROM mainspring.api_keys AS api_key
LEFT JOIN mainspring.tenants AS tenant ON api_key.tenant = tenant.name
WHERE api_key.id = :id::text;
