DELETE FROM jobs
WHERE id IN (
    SELECT substr(:ids, given.key * 16 + 1, 16)
    FROM json_each(:positions) AS given
);
