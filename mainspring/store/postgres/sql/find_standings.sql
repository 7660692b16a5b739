-- What a judge must know beside the rows that are held. A statement of its own, after the guard:
-- one that held the rows and read this at once would have read it as it was before the wait.
SELECT
    given.id,
    coalesce(:at::timestamptz, statement_timestamp()) AS now,
    live.id AS live_id,
    CASE
        WHEN
            live.state IN ('scheduled', 'retrying')
            AND live.due_at <= coalesce(:at::timestamptz, statement_timestamp())
            THEN 'ready'
        ELSE live.state
    END AS live_state,
    live.due_at AS live_due_at,
    freed.job_ended_at AS freed_at,
    failed.failures
FROM
    unnest(
        :ids::uuid[], :waiting_each::boolean[], :pause_afters::integer[],
        :watched_from_each::timestamptz[]
    ) AS given (id, waiting, pause_after, watched_from)
LEFT JOIN mainspring.jobs AS live ON given.id = live.schedule_id AND live.alone
LEFT JOIN LATERAL (
    SELECT fire.job_ended_at
    FROM mainspring.fires AS fire
    WHERE
        given.waiting
        AND fire.schedule_id = given.id
        AND fire.job_ended_at IS NOT null
        AND fire.alone
    ORDER BY fire.job_ended_at DESC
    LIMIT 1
) AS freed ON true
LEFT JOIN LATERAL (
    SELECT fire.job_ended_at
    FROM mainspring.fires AS fire
    WHERE
        given.pause_after IS NOT null
        AND fire.schedule_id = given.id
        AND fire.job_ended_at IS NOT null
        AND fire.job_state <> 'dead'
    ORDER BY fire.job_ended_at DESC
    LIMIT 1
) AS other ON true
CROSS JOIN LATERAL (
    SELECT count(*) AS failures
    FROM mainspring.fires AS fire
    WHERE
        given.pause_after IS NOT null
        AND fire.schedule_id = given.id
        AND fire.job_ended_at > greatest(given.watched_from, other.job_ended_at)
        AND fire.job_state = 'dead'
) AS failed;
