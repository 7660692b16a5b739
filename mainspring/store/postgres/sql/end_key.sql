WITH known AS MATERIALIZED (
    SELECT id, name, tenant
    FROM mainspring.api_keys
    WHERE id = :id::text AND ended_at IS null
    FOR NO KEY UPDATE
)

UPDATE mainspring.api_keys AS api_key
SET ended_at = coalesce(:at::timestamptz, statement_timestamp()), ended_by = :actor::text
FROM known
WHERE api_key.id = known.id
RETURNING known.name, known.tenant;
