SELECT
    known.tenant,
    known.key,
    known.job_id,
    known.body_hash
FROM unnest(:tenants::text[], :keys::text[]) AS given (tenant, key)
INNER JOIN mainspring.submission_keys AS known
    ON given.tenant = known.tenant AND given.key = known.key;
