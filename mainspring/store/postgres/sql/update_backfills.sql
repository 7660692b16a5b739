UPDATE mainspring.backfills AS backfill
SET state = given.state, released_at = coalesce(given.released_at, backfill.released_at)
FROM unnest(:ids::uuid[], :states::text[], :released_ats::timestamptz[])
    AS given (id, state, released_at)
WHERE backfill.id = given.id AND backfill.state = 'active'
RETURNING
    backfill.id,
    backfill.schedule_id,
    (
        SELECT schedule.tenant
        FROM mainspring.schedules AS schedule
        WHERE schedule.id = backfill.schedule_id
    ) AS tenant;
