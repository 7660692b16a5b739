-- For each unique key: whether this very job is in already, who holds the key, and whether that
-- job may still be replaced, because nobody has begun it.
SELECT
    given.position,
    EXISTS (SELECT FROM mainspring.jobs AS live WHERE live.id = given.id)
    OR (
        :repeated::boolean
        AND EXISTS (SELECT FROM mainspring.jobs_history AS done WHERE done.id = given.id)
    ) AS is_known,
    holder.id AS holder_id,
    holder.attempt = 0 AND holder.state IN ('scheduled', 'ready') AS waits
FROM
    unnest(:ids::uuid[], :tenants::text[], :unique_keys::text[], :unique_whiles::text[])
    WITH ORDINALITY AS given (id, tenant, unique_key, unique_while, position)
LEFT JOIN mainspring.jobs AS holder
    ON
        given.tenant = holder.tenant
        AND given.unique_key = holder.unique_key
        AND given.unique_while = holder.unique_while
        AND (holder.unique_while = 'live' OR holder.attempt = 0);
