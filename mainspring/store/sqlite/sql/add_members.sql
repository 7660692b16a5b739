-- :entries [[state, attempt, replays, due], ...].
INSERT OR IGNORE INTO operation_jobs (operation_id, job_id, state, attempt, replays, due_at)
SELECT
    :id,
    substr(:ids, given.key * 16 + 1, 16),
    json_extract(given.value, '$[0]'),
    json_extract(given.value, '$[1]'),
    json_extract(given.value, '$[2]'),
    json_extract(given.value, '$[3]')
FROM json_each(:entries) AS given;
