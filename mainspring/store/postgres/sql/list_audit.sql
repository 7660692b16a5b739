SELECT
    at, number, actor, source, action, subject, tenant, detail, before_change, after_change
FROM mainspring.audit
WHERE
    (:subject::text IS null OR subject = :subject::text)
    AND (:actor::text IS null OR actor = :actor::text)
    AND (
        :action::text IS null
        OR action = :action::text
        OR starts_with(action, :action::text || '.')
    )
    AND (:tenant::text IS null OR tenant = :tenant::text)
    AND (:from_at::timestamptz IS null OR at >= :from_at::timestamptz)
    AND (:until_at::timestamptz IS null OR at < :until_at::timestamptz)
    AND (
        :before_at::timestamptz IS null
        OR (at, number) < (:before_at::timestamptz, :before_number::bigint)
    )
ORDER BY at DESC, number DESC
LIMIT :row_limit::integer;
