INSERT INTO mainspring.tenants (name, created_at, created_by)
SELECT
    given.name, coalesce(:at::timestamptz, statement_timestamp()), :actor::text
FROM unnest(:names::text[]) AS given (name)
WHERE NOT EXISTS (SELECT FROM mainspring.tenants AS known WHERE known.name = given.name)
ORDER BY given.name
ON CONFLICT (name) DO NOTHING
RETURNING name;
