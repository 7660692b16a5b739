UPDATE webhooks
SET
    wanted = coalesce(:wanted, wanted),
    secrets = coalesce(:secrets, secrets),
    state = coalesce(:state, state),
    reason = CASE WHEN :state IS NULL THEN reason ELSE :reason END,
    failing_since = CASE WHEN :state = 'active' THEN NULL ELSE failing_since END,
    changed_at = :now,
    version = version + 1
WHERE id = :id AND version = :version;
