-- Newest first.
SELECT record FROM mainspring.operations
WHERE
    (:before::uuid IS null OR id < :before::uuid)
    AND (:states::text[] IS null OR state = any(:states::text[]))
    AND (:tenant::text IS null OR tenant = :tenant::text)
ORDER BY id DESC
LIMIT :row_limit::integer;
