UPDATE jobs
SET state = 'ready', due_at = :now
WHERE
    id IN (
        SELECT substr(:ids, given.key * 16 + 1, 16)
        FROM json_each(:positions) AS given
    )
    AND state IN ('scheduled', 'retrying')
    AND due_at > :now
RETURNING id;
