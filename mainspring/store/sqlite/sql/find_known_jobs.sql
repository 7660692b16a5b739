-- Positions of those ids that exist, live or final.
SELECT json_group_array(given.key)
FROM json_each(:positions) AS given
WHERE
    EXISTS (
        SELECT 1 FROM jobs
        WHERE jobs.id = substr(:ids, given.key * 16 + 1, 16)
    )
    OR EXISTS (
        SELECT 1 FROM jobs_history
        WHERE jobs_history.id = substr(:ids, given.key * 16 + 1, 16)
    );
