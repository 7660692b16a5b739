INSERT INTO mainspring.audit (at, actor, action, subject, detail)
SELECT
    coalesce(:at::timestamptz, statement_timestamp()), :actor::text, :action::text,
    given.subject, given.detail
FROM unnest(:subjects::text[], :details::text[]) AS given (subject, detail);
