-- Newest first.
SELECT record FROM operations
WHERE
    id < :before_id
    AND (:states IS NULL OR state IN (SELECT wanted.value FROM json_each(:states) AS wanted))
    AND (:tenant IS NULL OR tenant = :tenant)
ORDER BY id DESC
LIMIT :page_size;
