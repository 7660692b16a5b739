-- Operations of one tenant, and the jobs that they are about; see the walls between tenants.
SET LOCAL lock_timeout = '5s';
SET LOCAL statement_timeout = '10min';

ALTER TABLE mainspring.operations ENABLE ROW LEVEL SECURITY;
CREATE POLICY tenants_apart ON mainspring.operations USING (
    current_user <> 'mainspring_tenant'
    OR tenant = current_setting('mainspring.tenant', true)
);

ALTER TABLE mainspring.operation_jobs ENABLE ROW LEVEL SECURITY;
CREATE POLICY tenants_apart ON mainspring.operation_jobs USING (
    current_user <> 'mainspring_tenant'
    OR EXISTS (
        SELECT FROM mainspring.operations AS owner WHERE owner.id = operation_jobs.operation_id
    )
);

-- Lines of the audit are written behind the wall, and never read there.
ALTER TABLE mainspring.audit ENABLE ROW LEVEL SECURITY;
CREATE POLICY tenants_apart ON mainspring.audit USING (
    current_user <> 'mainspring_tenant'
    OR tenant = current_setting('mainspring.tenant', true)
);
