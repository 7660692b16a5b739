-- Whoever writes the key first, or finds it expired, may insert its job. Waits for a rival that
-- has not committed yet; sorted, so that two calls cannot wait for each other.
INSERT INTO mainspring.submission_keys (job_id, expires_at, tenant, key, body_hash)
SELECT
    given.job_id,
    coalesce(:at::timestamptz, statement_timestamp()) + :keep_hours::integer * interval '1 hour',
    given.tenant,
    given.key,
    given.body_hash
FROM unnest(:job_ids::uuid[], :tenants::text[], :keys::text[], :body_hashes::bytea[])
    AS given (job_id, tenant, key, body_hash)
ORDER BY given.tenant, given.key
ON CONFLICT (tenant, key) DO UPDATE
SET job_id = excluded.job_id, expires_at = excluded.expires_at, body_hash = excluded.body_hash
WHERE
    submission_keys.expires_at
    <= excluded.expires_at - :keep_hours::integer * interval '1 hour'
RETURNING job_id;
