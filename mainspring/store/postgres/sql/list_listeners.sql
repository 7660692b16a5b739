SELECT id, tenant, wanted FROM mainspring.webhooks
WHERE state = 'active'
ORDER BY id;
