-- New jobs hold their unique keys. :entries [[unique key, while], ...].
UPDATE jobs
SET
    unique_key = json_extract(given.value, '$[0]'),
    unique_while = json_extract(given.value, '$[1]')
FROM json_each(:entries) AS given
WHERE jobs.id = substr(:ids, given.key * 16 + 1, 16);
