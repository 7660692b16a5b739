-- The one key of a tenant that holds a name.
SELECT id
FROM mainspring.api_keys
WHERE
    coalesce(tenant, '') = coalesce(:tenant::text, '')
    AND name = :name::text
    AND ended_at IS null
    AND replaced_by IS null;
