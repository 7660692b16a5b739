-- Nothing where the id is known: somebody repeats what was done.
INSERT INTO schedules (
    id, tenant, name, owner, state, version, shard, spec, calendars, cursor, zones, waiting,
    is_exclusive, pause_after, watched_from, created_at, updated_at, updated_by
)
VALUES (
    :id, :tenant, :name, :owner, 'active', 1, :shard, :spec, :calendars, :position, :zones, 0,
    :is_exclusive, :pause_after, :now, :now, :now, :actor
)
ON CONFLICT (id) DO NOTHING;
