-- One row a job. An array that is empty stands for its single value (or null) beside it: jobs of
-- one call mostly agree in most columns, and what is not sent costs nothing.
INSERT INTO mainspring.jobs (
    id, created_at, due_at, timeout_ms, priority, max_attempts, max_crashes, state, tenant, queue,
    kind, payload, payload_ref, backoff, on_exhausted, effect_key, submission_key,
    unique_key, unique_while, schedule_id, nominal_at, alone
)
SELECT
    given.id,
    coalesce(:at::timestamptz, statement_timestamp()),
    coalesce(
        given.due_at,
        coalesce(:at::timestamptz, statement_timestamp())
        + coalesce(given.delay_ms, :delay_ms::bigint, 0) * interval '1 millisecond'
    ),
    coalesce(given.timeout_ms, :timeout_ms::integer),
    coalesce(given.priority, :priority::smallint),
    coalesce(given.max_attempts, :max_attempts::smallint),
    coalesce(given.max_crashes, :max_crashes::smallint),
    CASE
        WHEN
            coalesce(given.due_at <= coalesce(:at::timestamptz, statement_timestamp()), true)
            AND coalesce(given.delay_ms, :delay_ms::bigint, 0) <= 0
            THEN 'ready'
        ELSE 'scheduled'
    END,
    coalesce(given.tenant, :tenant::text),
    coalesce(given.queue, :queue::text),
    coalesce(given.kind, :kind::text),
    convert_from(given.payload, 'UTF8'),
    given.payload_ref,
    coalesce(given.backoff, :backoff::text),
    coalesce(given.on_exhausted, :on_exhausted::text),
    given.effect_key,
    given.submission_key,
    given.unique_key,
    CASE
        WHEN given.unique_key IS NOT null THEN coalesce(given.unique_while, :unique_while::text)
    END,
    given.schedule_id,
    given.nominal_at,
    coalesce(given.alone, false)
FROM
    unnest(
        :ids::uuid[], :payloads::bytea[], :payload_refs::text[], :due_ats::timestamptz[],
        :delays_ms::bigint[], :kinds::text[], :tenants::text[], :queues::text[],
        :priorities::smallint[], :max_attempts_each::smallint[], :max_crashes_each::smallint[],
        :timeouts_ms::integer[], :backoffs::text[], :on_exhausted_each::text[],
        :effect_keys::text[], :submission_keys::text[], :unique_keys::text[],
        :unique_whiles::text[], :schedule_ids::uuid[], :nominal_ats::timestamptz[],
        :alone_each::boolean[]
    ) AS given (
        id, payload, payload_ref, due_at, delay_ms, kind, tenant, queue, priority, max_attempts,
        max_crashes, timeout_ms, backoff, on_exhausted, effect_key, submission_key,
        unique_key, unique_while, schedule_id, nominal_at, alone
    )
-- Known ids, unique keys that are held, and schedules that have a live job which must be alone.
ON CONFLICT DO NOTHING
RETURNING id;
