-- Nothing changes when it was there, or when the tenant has as many as it may.
INSERT INTO webhooks (
    id, tenant, state, wanted, secrets, version, job_id, created_at, changed_at
)
SELECT :id, :tenant, 'active', :wanted, :secrets, 1, :job_id, :now, :now
WHERE (SELECT count(*) FROM webhooks AS other WHERE other.tenant = :tenant) < :most
ON CONFLICT (id) DO NOTHING;
