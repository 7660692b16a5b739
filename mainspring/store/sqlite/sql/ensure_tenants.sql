INSERT INTO tenants (name, created_at, created_by)
SELECT given.value, :at, :actor
FROM json_each(:names) AS given
WHERE true
ON CONFLICT (name) DO NOTHING
RETURNING name;
