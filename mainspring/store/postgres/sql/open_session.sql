-- Renewing under the same id is allowed while it lives; a session that ended never comes back.
INSERT INTO mainspring.workers (
    id, started_at, beat_at, lease_until, lease_ms, pid, state, name, host, version, queues, kinds,
    tenant
)
VALUES (
    :id::uuid,
    coalesce(:at::timestamptz, statement_timestamp()),
    coalesce(:at::timestamptz, statement_timestamp()),
    coalesce(:at::timestamptz, statement_timestamp())
    + :lease_ms::integer * interval '1 millisecond',
    :lease_ms::integer,
    :pid::integer,
    'alive',
    :name::text,
    :host::text,
    :version::text,
    :queues::text,
    :kinds::text,
    :tenant::text
)
ON CONFLICT (id) DO UPDATE
SET beat_at = excluded.beat_at, lease_until = excluded.lease_until, lease_ms = excluded.lease_ms
WHERE
    workers.state IN ('alive', 'draining')
    AND workers.lease_until >= excluded.beat_at
    AND workers.tenant IS NOT DISTINCT FROM excluded.tenant
RETURNING lease_ms, drain_asked;
