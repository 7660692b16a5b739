UPDATE jobs
SET state = 'cancelling', reason = :reason
WHERE
    state = 'running'
    AND id IN (
        SELECT substr(:ids, given.key * 16 + 1, 16)
        FROM json_each(:positions) AS given
    );
