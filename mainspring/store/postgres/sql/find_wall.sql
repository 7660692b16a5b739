-- Can this user act as the role of tenants, and may that role read the live table?
SELECT count(*) > 0 AS stands
FROM pg_roles AS wall
WHERE
    wall.rolname = 'mainspring_tenant'
    AND NOT wall.rolsuper
    AND NOT wall.rolbypassrls
    AND pg_has_role(
        current_user,
        wall.oid,
        CASE
            WHEN current_setting('server_version_num')::integer < 160000 THEN 'MEMBER'
            ELSE 'SET'
        END
    )
    AND has_table_privilege(wall.oid, to_regclass('mainspring.jobs'), 'SELECT');
