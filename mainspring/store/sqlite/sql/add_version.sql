INSERT INTO schedule_versions (
    schedule_id, version, spec, calendars, zones, from_at, changed_at, changed_by, change
)
VALUES (:id, :version, :spec, :calendars, :zones, :from_at, :now, :actor, :change);
