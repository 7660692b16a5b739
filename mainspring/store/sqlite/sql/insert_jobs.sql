-- Jobs that have everything but id, instant, payload, references and keys in common.
-- :ids 16 bytes a job, :dues 20 digits a job, :entries [[payload, its reference, effect key, key]].
INSERT INTO jobs (
    id, tenant, queue, kind, priority, state, due_at, max_attempts, max_crashes, timeout_ms,
    payload, payload_ref, backoff, on_exhausted, effect_key, submission_key, created_at
)
SELECT
    substr(:ids, given.key * 16 + 1, 16),
    :tenant,
    :queue,
    :kind,
    :priority,
    CASE
        WHEN cast(substr(:dues, given.key * 20 + 1, 20) AS integer) <= :now THEN 'ready'
        ELSE 'scheduled'
    END,
    cast(substr(:dues, given.key * 20 + 1, 20) AS integer),
    :max_attempts,
    :max_crashes,
    :timeout_ms,
    json_extract(given.value, '$[0]'),
    json_extract(given.value, '$[1]'),
    :backoff,
    :on_exhausted,
    json_extract(given.value, '$[2]'),
    json_extract(given.value, '$[3]'),
    :now
FROM json_each(:entries) AS given;
