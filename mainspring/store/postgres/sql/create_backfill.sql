-- The schedule's row is held, so that it is there and that its ledger does not move meanwhile.
WITH schedule AS MATERIALIZED (
    SELECT id, version, tenant
    FROM mainspring.schedules
    WHERE id = :schedule_id::uuid
    FOR NO KEY UPDATE
),

created AS (
    INSERT INTO mainspring.backfills (
        id, schedule_id, created_at, from_at, until_at, fires, concurrency, rate, direction, state,
        created_by
    )
    SELECT
        :id::uuid, schedule.id, coalesce(:at::timestamptz, statement_timestamp()),
        :from_at::timestamptz, :until_at::timestamptz, 0, :concurrency::integer, :rate::integer,
        :direction::text, 'active', :actor::text
    FROM schedule
    ON CONFLICT DO NOTHING
    RETURNING id
)

SELECT schedule.version, created.id IS NOT null AS is_new, schedule.tenant
FROM schedule
LEFT JOIN created ON true;
