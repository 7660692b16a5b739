-- Rows that point to jobs which were taken back.
DELETE FROM fires
WHERE
    outcome = 'coalesced_into'
    AND job_id IN (
        SELECT substr(:ids, given.key * 16 + 1, 16)
        FROM json_each(:positions) AS given
    )
RETURNING nominal_at, sequence, outcome;
