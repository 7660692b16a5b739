DELETE FROM mainspring.submission_keys
WHERE (tenant, key) IN (
    SELECT stale.tenant, stale.key
    FROM mainspring.submission_keys AS stale
    WHERE stale.expires_at <= coalesce(:at::timestamptz, statement_timestamp())
    ORDER BY stale.expires_at
    LIMIT :row_limit::integer
)
AND expires_at <= coalesce(:at::timestamptz, statement_timestamp())
RETURNING tenant;
