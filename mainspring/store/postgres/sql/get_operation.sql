SELECT record FROM mainspring.operations
WHERE id = :id::uuid;
