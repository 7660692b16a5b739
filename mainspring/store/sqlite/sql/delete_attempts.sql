DELETE FROM attempts
WHERE job_id IN (
    SELECT substr(:ids, given.key * 16 + 1, 16)
    FROM json_each(:positions) AS given
);
