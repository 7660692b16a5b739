-- :entries [[tenant, key], ...]; answers [[position, job id, body hash], ...] of unexpired keys.
SELECT json_group_array(json_array(given.key, hex(known.job_id), known.body_hash))
FROM json_each(:entries) AS given
CROSS JOIN submission_keys AS known
WHERE
    known.tenant = json_extract(given.value, '$[0]')
    AND known.key = json_extract(given.value, '$[1]')
    AND known.expires_at > :now;
