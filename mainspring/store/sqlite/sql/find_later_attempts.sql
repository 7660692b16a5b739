-- Jobs of which an attempt ended after an instant.
SELECT DISTINCT attempts.job_id
FROM json_each(:positions) AS given
CROSS JOIN attempts
WHERE
    attempts.job_id = substr(:ids, given.key * 16 + 1, 16)
    AND attempts.ended_at > :until;
