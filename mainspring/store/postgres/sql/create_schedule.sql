-- The cursor begins at the store's now: nothing before it is ever fired.
INSERT INTO mainspring.schedules (
    id, created_at, updated_at, watched_from, look_at, version, zones, pause_after, shard,
    is_exclusive, state, tenant, name, owner, spec, calendars, cursor, updated_by
)
SELECT
    :id::uuid, now.at, now.at, now.at, now.at, 1, :zones::integer, :pause_after::integer,
    :shard::smallint, :is_exclusive::boolean, 'active', :tenant::text, :name::text, :owner::text,
    :spec::text, :calendars::text,
    '{"through":' || floor(extract(EPOCH FROM now.at))::bigint || '}', :actor::text
FROM (SELECT coalesce(:at::timestamptz, statement_timestamp()) AS at) AS now
ON CONFLICT DO NOTHING
RETURNING
    id, tenant, name, state, version, spec, cursor, zones, calendars, waiting, paused_until,
    watched_from, pause_after;
