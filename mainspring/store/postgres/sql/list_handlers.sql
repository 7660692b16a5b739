SELECT info
FROM mainspring.handlers
WHERE :tenant::text IS null OR tenant = :tenant::text
ORDER BY kind, tenant;
