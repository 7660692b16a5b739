SELECT info
FROM handlers
WHERE :tenant IS NULL OR tenant = :tenant
ORDER BY kind, tenant;
