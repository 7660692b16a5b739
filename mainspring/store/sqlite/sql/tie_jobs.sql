-- New jobs learn whose fires they are. :ids and :schedules 16 bytes a job each, :entries
-- [[nominal, alone], ...].
UPDATE jobs
SET
    schedule_id = substr(:schedules, given.key * 16 + 1, 16),
    nominal_at = json_extract(given.value, '$[0]'),
    alone = json_extract(given.value, '$[1]')
FROM json_each(:entries) AS given
WHERE jobs.id = substr(:ids, given.key * 16 + 1, 16);
