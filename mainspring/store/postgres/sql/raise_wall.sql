-- The role as which the store works for one tenant, and what it may touch: rows are chosen by the
-- policies. A role belongs to the whole server, so another database may have made it, perhaps at
-- this very moment. Where this user may not make it, an administrator does.
DO $wall$
DECLARE
    name text;
BEGIN
    BEGIN
        IF NOT EXISTS (SELECT FROM pg_roles WHERE rolname = 'mainspring_tenant') THEN
            CREATE ROLE mainspring_tenant NOLOGIN;
        END IF;
        IF NOT (SELECT rolsuper FROM pg_roles WHERE rolname = current_user) THEN
            GRANT mainspring_tenant TO CURRENT_USER;
        END IF;
    EXCEPTION
        WHEN duplicate_object OR unique_violation OR insufficient_privilege OR internal_error THEN
            NULL;
    END;
    IF NOT EXISTS (SELECT FROM pg_roles WHERE rolname = 'mainspring_tenant') THEN
        RETURN;
    END IF;
    GRANT USAGE ON SCHEMA mainspring TO mainspring_tenant;
    GRANT SELECT ON mainspring.handlers, mainspring.queues TO mainspring_tenant;
    GRANT SELECT, UPDATE (drain_asked) ON mainspring.workers TO mainspring_tenant;
    GRANT INSERT ON mainspring.audit TO mainspring_tenant;
    IF to_regclass('mainspring.audit_number') IS NOT NULL THEN
        GRANT USAGE ON SEQUENCE mainspring.audit_number TO mainspring_tenant;
    END IF;
    FOREACH name IN ARRAY ARRAY[
        'jobs', 'jobs_history', 'attempts', 'job_logs', 'submission_keys', 'schedules',
        'schedule_versions', 'fires', 'calendars', 'backfills', 'operations', 'operation_jobs'
    ] LOOP
        IF to_regclass('mainspring.' || name) IS NOT NULL THEN
            EXECUTE format(
                'GRANT SELECT, INSERT, UPDATE, DELETE ON mainspring.%I TO mainspring_tenant', name
            );
        END IF;
    END LOOP;
EXCEPTION
    WHEN insufficient_privilege THEN
        NULL;
END
$wall$;
