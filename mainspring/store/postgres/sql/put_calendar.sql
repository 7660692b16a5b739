-- One that has this definition already stays as it is.
INSERT INTO mainspring.calendars AS known (
    tenant, name, updated_at, version, definition, updated_by
)
VALUES (
    :tenant::text, :name::text, coalesce(:at::timestamptz, statement_timestamp()), 1,
    :definition::text, :actor::text
)
ON CONFLICT (tenant, name) DO UPDATE
SET
    updated_at = excluded.updated_at,
    version = known.version + 1,
    definition = excluded.definition,
    updated_by = excluded.updated_by
WHERE known.definition <> excluded.definition
RETURNING version;
