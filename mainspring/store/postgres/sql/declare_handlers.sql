INSERT INTO mainspring.handlers (tenant, kind, info, declared_at)
SELECT given.tenant, given.kind, given.info, coalesce(:at::timestamptz, statement_timestamp())
FROM unnest(:tenants::text[], :kinds::text[], :infos::text[]) AS given (tenant, kind, info)
ORDER BY given.tenant, given.kind
ON CONFLICT (tenant, kind) DO UPDATE
SET info = excluded.info, declared_at = excluded.declared_at;
