-- Rulings that are carried out, a row each. What a change does not name stays as it is.
UPDATE mainspring.schedules AS schedule
SET
    state = given.state,
    cursor = given.cursor,
    look_at = given.look_at,
    waiting = given.waiting,
    version = given.version,
    watched_from = CASE WHEN given.counts_anew THEN now.at ELSE schedule.watched_from END,
    paused_at = CASE
        WHEN given.state <> 'paused' THEN null
        WHEN given.paused_by IS NOT null THEN now.at
        ELSE schedule.paused_at
    END,
    paused_by = CASE
        WHEN given.state = 'paused' THEN coalesce(given.paused_by, schedule.paused_by)
    END,
    paused_reason = CASE
        WHEN given.state <> 'paused' THEN null
        WHEN given.paused_by IS NOT null THEN given.paused_reason
        ELSE schedule.paused_reason
    END,
    paused_until = CASE
        WHEN given.state <> 'paused' THEN null
        WHEN given.paused_by IS NOT null THEN given.paused_until
        ELSE schedule.paused_until
    END,
    updated_at = CASE WHEN given.is_told THEN now.at ELSE schedule.updated_at END,
    updated_by = CASE WHEN given.is_told THEN :actor::text ELSE schedule.updated_by END
FROM
    unnest(
        :ids::uuid[], :states::text[], :cursors::text[], :look_ats::timestamptz[],
        :waiting_each::boolean[], :versions::integer[], :counts_anew_each::boolean[],
        :paused_bys::text[], :paused_reasons::text[], :pauses_until::timestamptz[],
        :told_each::boolean[]
    ) AS given (
        id, state, cursor, look_at, waiting, version, counts_anew, paused_by, paused_reason,
        paused_until, is_told
    )
CROSS JOIN (SELECT coalesce(:at::timestamptz, statement_timestamp()) AS at) AS now
WHERE schedule.id = given.id;
