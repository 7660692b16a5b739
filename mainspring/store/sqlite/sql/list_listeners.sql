SELECT id, tenant, wanted FROM webhooks
WHERE state = 'active'
ORDER BY id;
