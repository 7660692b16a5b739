-- A running operation, unless another node is at it; held until the end of the transaction.
SELECT record, coalesce(:at::timestamptz, statement_timestamp()) AS now
FROM mainspring.operations
WHERE id = :id::uuid AND state = 'running'
FOR NO KEY UPDATE SKIP LOCKED;
