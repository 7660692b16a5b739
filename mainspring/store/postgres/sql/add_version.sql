-- What a schedule was made as: version 1, for every fire after its beginning.
INSERT INTO mainspring.schedule_versions (
    schedule_id, from_at, changed_at, version, zones, spec, calendars, changed_by, change
)
SELECT
    id, to_timestamp(floor(extract(EPOCH FROM created_at))), created_at, version, zones, spec,
    calendars, updated_by, 'created'
FROM mainspring.schedules
WHERE id = :id::uuid;
