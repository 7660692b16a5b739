-- Before its new failure is kept: the row of failures is what came until now.
UPDATE webhooks
SET state = 'disabled', reason = :reason
WHERE
    id = :id
    AND state = 'active'
    AND (:gone <> '' OR failing_since < :now - :failing_max);
