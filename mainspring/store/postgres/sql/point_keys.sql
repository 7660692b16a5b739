-- A submission key whose job was not made, because another one holds its unique key, names that.
UPDATE mainspring.submission_keys AS known
SET job_id = given.holder_id
FROM unnest(:tenants::text[], :keys::text[], :holder_ids::uuid[])
    AS given (tenant, key, holder_id)
WHERE known.tenant = given.tenant AND known.key = given.key;
