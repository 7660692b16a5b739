-- Nothing comes back when it was there, or when the tenant has as many as it may.
INSERT INTO mainspring.webhooks (
    id, tenant, state, wanted, secrets, version, job_id, created_at, changed_at
)
SELECT
    :id::uuid, :tenant::text, 'active', :wanted::text, :secrets::text, 1, :job_id::uuid,
    coalesce(:at::timestamptz, statement_timestamp()),
    coalesce(:at::timestamptz, statement_timestamp())
WHERE
    (SELECT count(*) FROM mainspring.webhooks AS other WHERE other.tenant = :tenant::text)
    < :most::integer
ON CONFLICT (id) DO NOTHING
RETURNING id;
