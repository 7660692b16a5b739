SELECT
    id, name, tenant, scopes, created_at, created_by, expires_at, ended_at, ended_by, used_at,
    replaced_by,
    CASE
        WHEN ended_at IS NOT NULL THEN 'ended'
        WHEN expires_at <= :at THEN 'expired'
        ELSE 'active'
    END AS state
FROM api_keys
WHERE
    (:tenant IS NULL OR tenant = :tenant)
    AND (:name IS NULL OR name = :name)
    AND (
        :after_id IS NULL
        OR (name, id) > (
            SELECT known.name, known.id
            FROM api_keys AS known
            WHERE known.id = :after_id
        )
    )
    AND (:with_ended OR (ended_at IS NULL AND (expires_at IS NULL OR expires_at > :at)))
ORDER BY name, id
LIMIT :row_limit;
