-- Rows that are new, and which they are. :ids and :jobs 16 bytes a row each, :entries
-- [[nominal, sequence, outcome, cause, due, version, through, count, has a job, local, note,
-- missed, alone], ...].
INSERT INTO fires (
    schedule_id, nominal_at, sequence, outcome, cause, due_at, decided_at, version, through,
    fire_count, job_id, local_time, note, missed, alone
)
SELECT
    substr(:ids, given.key * 16 + 1, 16),
    json_extract(given.value, '$[0]'),
    json_extract(given.value, '$[1]'),
    json_extract(given.value, '$[2]'),
    json_extract(given.value, '$[3]'),
    json_extract(given.value, '$[4]'),
    :now,
    json_extract(given.value, '$[5]'),
    json_extract(given.value, '$[6]'),
    json_extract(given.value, '$[7]'),
    CASE
        WHEN json_extract(given.value, '$[8]') THEN substr(:jobs, given.key * 16 + 1, 16)
    END,
    json_extract(given.value, '$[9]'),
    json_extract(given.value, '$[10]'),
    json_extract(given.value, '$[11]'),
    json_extract(given.value, '$[12]')
FROM json_each(:entries) AS given
WHERE true
ON CONFLICT (schedule_id, nominal_at, sequence) DO NOTHING
RETURNING schedule_id, nominal_at, sequence;
