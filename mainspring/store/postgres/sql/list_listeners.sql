-- As text alone: whoever's driver asks, the answer is the same.
SELECT
    id::text AS id, tenant, wanted
FROM mainspring.webhooks
WHERE state = 'active' AND (:tenant::text IS null OR tenant = :tenant::text)
ORDER BY webhooks.id;
