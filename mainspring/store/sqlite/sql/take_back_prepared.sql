-- :ids 16 bytes a job, :entries [[nominal, sequence], ...].
DELETE FROM fires
WHERE
    fires.schedule_id = :id
    AND (fires.nominal_at, fires.sequence) IN (
        SELECT
            json_extract(given.value, '$[0]') AS nominal_at,
            json_extract(given.value, '$[1]') AS sequence
        FROM json_each(:entries) AS given
    )
RETURNING nominal_at, sequence, outcome;
