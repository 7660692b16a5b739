INSERT INTO backfills (
    id, schedule_id, from_at, until_at, fire_order, concurrency, rate, state, fire_count,
    created_at, created_by
)
VALUES (
    :id, :schedule_id, :from_at, :until_at, :fire_order, :concurrency, :rate, 'active', :fire_count,
    :now, :actor
);
