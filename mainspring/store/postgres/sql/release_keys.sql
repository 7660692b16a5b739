-- Submission keys whose submission was refused: nothing was accepted under them.
DELETE FROM mainspring.submission_keys AS known
USING unnest(:tenants::text[], :keys::text[]) AS given (tenant, key)
WHERE known.tenant = given.tenant AND known.key = given.key;
