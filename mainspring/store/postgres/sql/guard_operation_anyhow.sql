-- An operation in whatever state; waits for a batch that is under way.
SELECT record, coalesce(:at::timestamptz, statement_timestamp()) AS now
FROM mainspring.operations
WHERE id = :id::uuid
FOR NO KEY UPDATE;
