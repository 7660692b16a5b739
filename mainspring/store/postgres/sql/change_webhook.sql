UPDATE mainspring.webhooks
SET
    wanted = coalesce(:wanted::text, wanted),
    secrets = coalesce(:secrets::text, secrets),
    state = coalesce(:state::text, state),
    reason = CASE WHEN :state::text IS null THEN reason ELSE :reason::text END,
    failing_since = CASE WHEN :state::text = 'active' THEN null ELSE failing_since END,
    changed_at = coalesce(:at::timestamptz, statement_timestamp()),
    version = version + 1
WHERE id = :id::uuid AND version = :version::integer
RETURNING id;
