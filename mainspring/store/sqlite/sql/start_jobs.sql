-- What was picked becomes held. The crash is charged now, so that a poisonous job ends as well.
UPDATE jobs
SET
    state = 'running',
    attempt = attempt + 1,
    tries = tries + 1,
    crashes = crashes + 1,
    worker_id = :worker_id,
    child = :child,
    started_at = :now,
    deadline_at = :now + (timeout_ms + :grace_ms) * 1000,
    reason = NULL,
    progress_done = NULL,
    progress_total = NULL,
    progress_note = NULL
WHERE id IN (
    SELECT substr(:ids, given.key * 16 + 1, 16)
    FROM json_each(:positions) AS given
);
