-- What these fires came to so far. :entries [[nominal, sequence], ...].
SELECT
    given.key,
    fires.outcome,
    fires.job_id IS NULL AS is_jobless,
    fires.job_state,
    fires.note,
    json_array(
        fires.outcome,
        fires.cause,
        fires.due_at,
        fires.decided_at,
        fires.version,
        hex(fires.job_id),
        hex(fires.backfill_id),
        fires.note,
        fires.missed,
        fires.job_state,
        fires.job_ended_at,
        fires.alone
    ) AS former
FROM json_each(:entries) AS given
CROSS JOIN fires
WHERE
    fires.schedule_id = :id
    AND fires.nominal_at = json_extract(given.value, '$[0]')
    AND fires.sequence = json_extract(given.value, '$[1]');
