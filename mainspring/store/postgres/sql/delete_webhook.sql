DELETE FROM mainspring.webhooks
WHERE id = :id::uuid
RETURNING id;
