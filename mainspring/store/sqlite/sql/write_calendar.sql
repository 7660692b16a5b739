-- One that has this definition already stays as it is.
INSERT INTO calendars (tenant, name, definition, version, updated_at, updated_by)
VALUES (:tenant, :name, :definition, 1, :now, :actor)
ON CONFLICT (tenant, name) DO UPDATE SET
    definition = excluded.definition,
    version = calendars.version + 1,
    updated_at = excluded.updated_at,
    updated_by = excluded.updated_by
WHERE calendars.definition <> excluded.definition;
