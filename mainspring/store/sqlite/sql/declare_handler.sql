INSERT INTO handlers (tenant, kind, info, declared_at)
VALUES (:tenant, :kind, :info, :now)
ON CONFLICT (tenant, kind) DO UPDATE SET
    info = excluded.info,
    declared_at = excluded.declared_at;
