INSERT INTO mainspring.audit (
    at, tenant, actor, source, action, subject, detail, before_change, after_change
)
SELECT
    coalesce(:at::timestamptz, statement_timestamp()), given.tenant, :actor::text, :source::text,
    :action::text, given.subject, given.detail, given.before_change,
    given.after_change
FROM
    unnest(
        :subjects::text[], :tenants::text[], :details::text[], :before_each::text[],
        :after_each::text[]
    ) AS given (subject, tenant, detail, before_change, after_change);
