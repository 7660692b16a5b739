SELECT id, tenant, wanted FROM webhooks
WHERE state = 'active' AND (:tenant IS NULL OR tenant = :tenant)
ORDER BY id;
