-- One row comes back, and says whether it became disabled by this.
WITH before AS (
    SELECT
        id, state, coalesce(:at::timestamptz, statement_timestamp()) AS now,
        state = 'active' AND (
            :gone::text <> ''
            OR failing_since
            < coalesce(:at::timestamptz, statement_timestamp()) - :failing_max::interval
        ) AS ends
    FROM mainspring.webhooks
    WHERE
        id = :id::uuid
        AND (
            :gone::text <> ''
            OR last_failure_at IS null
            OR failing_since IS null
            OR last_failure_at
            <= coalesce(:at::timestamptz, statement_timestamp()) - interval '1 second'
        )
    FOR NO KEY UPDATE
)

UPDATE mainspring.webhooks AS hook
SET
    last_failure_at = before.now,
    failing_since = coalesce(hook.failing_since, before.now),
    state = CASE WHEN before.ends IS true THEN 'disabled' ELSE hook.state END,
    reason = CASE WHEN before.ends IS true THEN :reason::text ELSE hook.reason END
FROM before
WHERE hook.id = before.id
RETURNING coalesce(before.ends, false) AS ended;
