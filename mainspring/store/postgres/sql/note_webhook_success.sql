UPDATE mainspring.webhooks
SET
    last_success_at = coalesce(:at::timestamptz, statement_timestamp()),
    failing_since = null
WHERE
    id = :id::uuid
    AND (
        failing_since IS NOT null
        OR last_success_at IS null
        OR last_success_at
        <= coalesce(:at::timestamptz, statement_timestamp()) - interval '1 second'
    )
RETURNING id;
