-- A page of the ledger. Spans count where they begin; those that reach into the range come too.
-- One direction or the other: each goes along the primary key and stops after the page.
WITH page AS (
    (
        SELECT *
        FROM mainspring.fires
        WHERE
            NOT :newest_first::boolean
            AND schedule_id = :id::uuid
            AND nominal_at > :after::timestamptz
            AND nominal_at <= :until::timestamptz
            AND (:outcomes::text[] IS null OR outcome = any(:outcomes::text[]))
        ORDER BY nominal_at, sequence
        LIMIT :row_limit::integer
    )
    UNION ALL
    (
        SELECT *
        FROM mainspring.fires
        WHERE
            :newest_first::boolean
            AND schedule_id = :id::uuid
            AND nominal_at > :after::timestamptz
            AND nominal_at <= :until::timestamptz
            AND (:outcomes::text[] IS null OR outcome = any(:outcomes::text[]))
        ORDER BY nominal_at DESC, sequence DESC
        LIMIT :row_limit::integer
    )
    UNION ALL
    (
        SELECT *
        FROM mainspring.fires
        WHERE
            schedule_id = :id::uuid
            AND through > :after::timestamptz
            AND nominal_at <= :after::timestamptz
            AND (:outcomes::text[] IS null OR outcome = any(:outcomes::text[]))
    )
)

SELECT
    schedule_id, nominal_at, sequence, outcome, cause, due_at, decided_at, version, through,
    fire_count, job_id, backfill_id, wall_time, note, missed, job_state, job_ended_at
FROM page
ORDER BY
    CASE WHEN NOT :newest_first::boolean THEN nominal_at END,
    CASE WHEN NOT :newest_first::boolean THEN sequence END,
    nominal_at DESC,
    sequence DESC
LIMIT :row_limit::integer;
