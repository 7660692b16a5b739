-- New versions: what is fired from now on, and a line that tells it for good.
WITH change AS MATERIALIZED (
    SELECT given.*
    FROM
        unnest(
            :ids::uuid[], :versions::integer[], :specs::text[], :calendars_each::text[],
            :zones_each::integer[], :from_ats::timestamptz[], :changes::text[], :owners::text[],
            :exclusive_each::boolean[], :pause_afters::integer[]
        ) AS given (
            id, version, spec, calendars, zones, from_at, change, owner, is_exclusive, pause_after
        )
),

told AS (
    INSERT INTO mainspring.schedule_versions (
        schedule_id, from_at, changed_at, version, zones, spec, calendars, changed_by, change
    )
    SELECT
        id, from_at, coalesce(:at::timestamptz, statement_timestamp()), version, zones, spec,
        calendars, :actor::text, change
    FROM change
)

UPDATE mainspring.schedules AS schedule
SET
    spec = change.spec,
    calendars = change.calendars,
    zones = change.zones,
    owner = coalesce(change.owner, schedule.owner),
    is_exclusive = change.is_exclusive,
    pause_after = change.pause_after
FROM change
WHERE schedule.id = change.id;
