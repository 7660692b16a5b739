SELECT
    id, name, tenant, scopes, created_at, created_by, expires_at, ended_at, ended_by, used_at,
    replaced_by,
    CASE
        WHEN ended_at IS NOT null THEN 'ended'
        WHEN expires_at <= coalesce(:at::timestamptz, statement_timestamp()) THEN 'expired'
        ELSE 'active'
    END AS state
FROM mainspring.api_keys
WHERE
    (:tenant::text IS null OR tenant = :tenant::text)
    AND (:name::text IS null OR name = :name::text)
    AND (
        :after_id::text IS null
        OR (name, id) > (
            SELECT known.name, known.id
            FROM mainspring.api_keys AS known
            WHERE known.id = :after_id::text
        )
    )
    AND (
        :with_ended::boolean
        OR (
            ended_at IS null
            AND (
                expires_at IS null
                OR expires_at > coalesce(:at::timestamptz, statement_timestamp())
            )
        )
    )
ORDER BY name, id
LIMIT :row_limit::integer;
