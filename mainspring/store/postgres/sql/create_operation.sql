INSERT INTO mainspring.operations (id, tenant, state, step_at, record)
VALUES (
    :id::uuid, :tenant::text, :state::text, coalesce(:at::timestamptz, statement_timestamp()),
    :record::text
)
ON CONFLICT (id) DO NOTHING
RETURNING id;
