-- :entries [[outcome, reason], ...]. An UPDATE would go through all members for each of these.
INSERT INTO operation_jobs (
    operation_id, job_id, state, attempt, replays, due_at, outcome, reason
)
SELECT
    member.operation_id,
    member.job_id,
    member.state,
    member.attempt,
    member.replays,
    member.due_at,
    json_extract(given.value, '$[0]'),
    json_extract(given.value, '$[1]')
FROM json_each(:entries) AS given
CROSS JOIN operation_jobs AS member
WHERE
    member.operation_id = :id
    AND member.job_id = substr(:ids, given.key * 16 + 1, 16)
ON CONFLICT (operation_id, job_id) DO UPDATE SET
outcome = excluded.outcome,
reason = excluded.reason;
