-- :entries [[tenant, key, body hash], ...]. Only keys that are new or expired come here.
INSERT INTO submission_keys (tenant, key, job_id, body_hash, expires_at)
SELECT
    json_extract(given.value, '$[0]'),
    json_extract(given.value, '$[1]'),
    substr(:ids, given.key * 16 + 1, 16),
    json_extract(given.value, '$[2]'),
    :expires_at
FROM json_each(:entries) AS given
WHERE true
ON CONFLICT (tenant, key) DO UPDATE SET
    job_id = excluded.job_id,
    body_hash = excluded.body_hash,
    expires_at = excluded.expires_at;
