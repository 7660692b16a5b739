-- The one key of a tenant that holds a name.
SELECT id
FROM api_keys
WHERE
    coalesce(tenant, '') = coalesce(:tenant, '')
    AND name = :name
    AND ended_at IS NULL
    AND replaced_by IS NULL;
