-- Held rows become waiting ones. :entries [[error, delay, group], ...].
UPDATE jobs
SET
    state = :state,
    due_at = :now + json_extract(given.value, '$[1]') * 1000,
    tries = max(tries - :refund_try, 0),
    crashes = max(crashes - :refund_crash, 0),
    worker_id = NULL,
    child = NULL,
    started_at = NULL,
    deadline_at = NULL,
    reason = :reason,
    error = coalesce(json_extract(given.value, '$[0]'), jobs.error),
    error_group = CASE
        WHEN json_extract(given.value, '$[0]') IS NULL THEN jobs.error_group
        ELSE json_extract(given.value, '$[2]')
    END
FROM json_each(:entries) AS given
WHERE jobs.id = substr(:ids, given.key * 16 + 1, 16);
