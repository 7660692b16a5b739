-- Opening again renews what lives. What has ended never comes back: no row is answered then.
INSERT INTO workers (
    id, name, host, pid, version, queues, kinds, state, lease_ms, started_at, beat_at, lease_until,
    tenant
)
VALUES (
    :id,
    :name,
    :host,
    :pid,
    :version,
    :queues,
    :kinds,
    'alive',
    :lease_ms,
    :now,
    :now,
    :now + :lease_ms * 1000,
    :tenant
)
ON CONFLICT (id) DO UPDATE SET
    beat_at = excluded.beat_at,
    lease_ms = excluded.lease_ms,
    lease_until = excluded.lease_until
WHERE
    workers.state IN ('alive', 'draining')
    AND workers.lease_until >= :now
    AND workers.tenant IS excluded.tenant
RETURNING lease_ms, drain_asked;
