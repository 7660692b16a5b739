SELECT
    at, rowid AS number, actor, source, action, subject, tenant, detail,
    before_change, after_change
FROM audit
WHERE
    (:subject IS NULL OR subject = :subject)
    AND (:actor IS NULL OR actor = :actor)
    AND (
        :action IS NULL
        OR action = :action
        OR substr(action, 1, length(:action) + 1) = :action || '.'
    )
    AND (:tenant IS NULL OR tenant = :tenant)
    AND (:from_at IS NULL OR at >= :from_at)
    AND (:until_at IS NULL OR at < :until_at)
    AND (:before_at IS NULL OR (at, rowid) < (:before_at, :before_number))
ORDER BY at DESC, rowid DESC
LIMIT :row_limit;
