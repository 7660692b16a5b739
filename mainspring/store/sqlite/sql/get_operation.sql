SELECT record FROM operations
WHERE id = :id;
