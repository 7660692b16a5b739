INSERT INTO mainspring.api_keys (
    id, tenant, name, scopes, secret_hash, created_at, created_by, expires_at
)
VALUES (
    :id::text, :tenant::text, :name::text, :scopes::text, :secret_hash::bytea,
    coalesce(:at::timestamptz, statement_timestamp()), :actor::text, :expires_at::timestamptz
)
ON CONFLICT DO NOTHING
RETURNING id;
