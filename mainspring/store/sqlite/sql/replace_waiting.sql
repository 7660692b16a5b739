-- Jobs that nobody has begun take over what was submitted, and keep their id and their keys.
-- :ids 16 bytes a job, :dues 20 digits a job, :entries [[kind, queue, priority, attempts, crashes,
-- timeout, back-off, follow-up, payload, its reference, effect key], ...].
UPDATE jobs
SET
    kind = json_extract(given.value, '$[0]'),
    queue = json_extract(given.value, '$[1]'),
    priority = json_extract(given.value, '$[2]'),
    max_attempts = json_extract(given.value, '$[3]'),
    max_crashes = json_extract(given.value, '$[4]'),
    timeout_ms = json_extract(given.value, '$[5]'),
    backoff = json_extract(given.value, '$[6]'),
    on_exhausted = json_extract(given.value, '$[7]'),
    payload = json_extract(given.value, '$[8]'),
    payload_ref = json_extract(given.value, '$[9]'),
    effect_key = json_extract(given.value, '$[10]'),
    due_at = cast(substr(:dues, given.key * 20 + 1, 20) AS integer),
    state = CASE
        WHEN cast(substr(:dues, given.key * 20 + 1, 20) AS integer) <= :now THEN 'ready'
        ELSE 'scheduled'
    END
FROM json_each(:entries) AS given
WHERE jobs.id = substr(:ids, given.key * 16 + 1, 16);
