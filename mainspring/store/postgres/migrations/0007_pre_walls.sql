-- The second wall between tenants: whoever acts as the role mainspring_tenant sees and writes what
-- is the tenant's that the setting mainspring.tenant names, and without a setting nothing. The
-- owner of the tables is not concerned, and any other role goes by its grants as before.

SET LOCAL lock_timeout = '5s';
SET LOCAL statement_timeout = '10min';

ALTER TABLE mainspring.jobs ENABLE ROW LEVEL SECURITY;
CREATE POLICY tenants_apart ON mainspring.jobs USING (
    current_user <> 'mainspring_tenant'
    OR tenant = current_setting('mainspring.tenant', true)
);

ALTER TABLE mainspring.jobs_history ENABLE ROW LEVEL SECURITY;
CREATE POLICY tenants_apart ON mainspring.jobs_history USING (
    current_user <> 'mainspring_tenant'
    OR tenant = current_setting('mainspring.tenant', true)
);

ALTER TABLE mainspring.attempts ENABLE ROW LEVEL SECURITY;
CREATE POLICY tenants_apart ON mainspring.attempts USING (
    current_user <> 'mainspring_tenant'
    OR tenant = current_setting('mainspring.tenant', true)
);

ALTER TABLE mainspring.submission_keys ENABLE ROW LEVEL SECURITY;
CREATE POLICY tenants_apart ON mainspring.submission_keys USING (
    current_user <> 'mainspring_tenant'
    OR tenant = current_setting('mainspring.tenant', true)
);

ALTER TABLE mainspring.schedules ENABLE ROW LEVEL SECURITY;
CREATE POLICY tenants_apart ON mainspring.schedules USING (
    current_user <> 'mainspring_tenant'
    OR tenant = current_setting('mainspring.tenant', true)
);

ALTER TABLE mainspring.calendars ENABLE ROW LEVEL SECURITY;
CREATE POLICY tenants_apart ON mainspring.calendars USING (
    current_user <> 'mainspring_tenant'
    OR tenant = current_setting('mainspring.tenant', true)
);

ALTER TABLE mainspring.workers ENABLE ROW LEVEL SECURITY;
CREATE POLICY tenants_apart ON mainspring.workers USING (
    current_user <> 'mainspring_tenant'
    OR tenant = current_setting('mainspring.tenant', true)
);

-- Kinds of workers that are bound to no tenant are known to all.
ALTER TABLE mainspring.handlers ENABLE ROW LEVEL SECURITY;
CREATE POLICY tenants_apart ON mainspring.handlers USING (
    current_user <> 'mainspring_tenant'
    OR tenant IN (current_setting('mainspring.tenant', true), 'default')
);

-- These are seen with the job or the schedule that they belong to: its own policy decides.
ALTER TABLE mainspring.job_logs ENABLE ROW LEVEL SECURITY;
CREATE POLICY tenants_apart ON mainspring.job_logs USING (
    current_user <> 'mainspring_tenant'
    OR EXISTS (SELECT FROM mainspring.jobs AS live WHERE live.id = job_logs.job_id)
    OR EXISTS (SELECT FROM mainspring.jobs_history AS final WHERE final.id = job_logs.job_id)
);

ALTER TABLE mainspring.schedule_versions ENABLE ROW LEVEL SECURITY;
CREATE POLICY tenants_apart ON mainspring.schedule_versions USING (
    current_user <> 'mainspring_tenant'
    OR EXISTS (
        SELECT FROM mainspring.schedules AS owner WHERE owner.id = schedule_versions.schedule_id
    )
);

ALTER TABLE mainspring.fires ENABLE ROW LEVEL SECURITY;
CREATE POLICY tenants_apart ON mainspring.fires USING (
    current_user <> 'mainspring_tenant'
    OR EXISTS (
        SELECT FROM mainspring.schedules AS owner WHERE owner.id = fires.schedule_id
    )
);

ALTER TABLE mainspring.backfills ENABLE ROW LEVEL SECURITY;
CREATE POLICY tenants_apart ON mainspring.backfills USING (
    current_user <> 'mainspring_tenant'
    OR EXISTS (
        SELECT FROM mainspring.schedules AS owner WHERE owner.id = backfills.schedule_id
    )
);
