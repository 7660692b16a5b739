UPDATE mainspring.api_keys AS api_key
SET used_at = least(given.used_at, coalesce(:at::timestamptz, statement_timestamp()))
FROM unnest(:ids::text[], :used_ats::timestamptz[]) AS given (id, used_at)
WHERE
    api_key.id = given.id
    AND (api_key.used_at IS null OR api_key.used_at < given.used_at);
